"""Loops of functions that are written as text."""

from __future__ import annotations

from gridlane.codegen.llvm.text import Body


class Loop:
    """A loop of a known number of iterations, at least one, that carries values."""

    def __init__(
        self, body: Body, count: int, name: str, carried: list[tuple[str, str]] | None = None
    ) -> None:
        self.body, self.count, self.carried = body, count, carried or []
        before, self.label = body.block, body.label(name)
        body.branch(self.label)
        body.start(self.label)
        self.counter, self._next = body.fresh("n"), body.fresh("next")
        self.values = [body.fresh("sum") for _ in self.carried]
        self._before, self._phis = before, len(body.lines)

    def end(self, values: list[str] | None = None) -> None:
        """Close the loop, with what its values become."""
        body, last = self.body, self.body.block
        phis = [
            f"  {self.counter} = phi i64 [ 0, %{self._before} ], [ {self._next}, %{last} ]",
            *(
                f"  {name} = phi {type_} [ {value}, %{self._before} ], [ {after}, %{last} ]"
                for name, (type_, value), after in zip(
                    self.values, self.carried, values or [], strict=True
                )
            ),
        ]
        body.lines[self._phis : self._phis] = phis
        body.do(f"{self._next} = add i64 {self.counter}, 1")
        done, out = body.op(f"icmp eq i64 {self._next}, {self.count}"), body.label("out")
        body.branch_if(done, out, self.label)
        body.start(out)
