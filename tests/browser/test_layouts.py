"""Tint takes the layouts of messages, the functions of packed fields and all reserved words."""

from __future__ import annotations

import json

from tests.actors.layouts.samples import ALL
from tests.actors.layouts.test_declarations import all_reserved
from tests.actors.layouts.test_wgsl import shader
from tests.browser.chromium import Chromium

from gridlane.actors.layouts import wgsl


def test_tint_takes_the_layouts(shaders: Chromium) -> None:
    texts = [shader(each, wgsl.scope_of(ALL), wgsl.text(ALL))[0] for each in ALL]
    texts.append(wgsl.text(all_reserved()))
    said = shaders.run(f"Promise.all({json.dumps(texts)}.map(shaders.judge))")
    assert said == [None] * len(texts)


def test_tint_refuses_what_is_no_wgsl(shaders: Chromium) -> None:
    """A name as it is in the class would not do."""
    text = wgsl.text(ALL).replace("type_:", "type:")
    assert "reserved" in shaders.run(f"shaders.judge({json.dumps(text)})")
