"""The built pages as people meet them: light, dark, by keyboard, on a phone, without scripts.

`make test-pages` builds the pages and runs these tests in Chromium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "_ext"))

import sliders  # noqa: E402

BUILT = HERE.parent / "_build" / "html"
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESK, PHONE = (1400, 1000), (390, 844)

CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")
PLAN, EPSILON = "guide/try_a_plan", "guide/try_epsilon"

# Of the reference one page of each kind; of everything else all pages.
REFERENCE = ("api/generated/skdppca.PrivatePCA", "api/generated/skdppca.planner.plan-function")
WRITTEN = sorted(
    path.relative_to(BUILT).with_suffix("").as_posix()
    for path in BUILT.rglob("*.html")
    if not path.relative_to(BUILT).as_posix().startswith(("api/generated/", "_", "genindex"))
)
PAGES = [*WRITTEN, *REFERENCE]
both_schemes = pytest.mark.parametrize("scheme", ["light", "dark"])
all_screens = pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])

MISSING_HEADS = """
return [...document.querySelectorAll("article table:not(.highlighttable)")].flatMap((table) => {
  const heads = [...table.querySelectorAll("th")].filter((head) => !head.scope);
  const caption = table.querySelector("caption")?.textContent.trim();
  return heads.length || !caption ? [table.textContent.trim().slice(0, 60)] : [];
});
"""
SHOWN_PICTURES = """
return [...document.querySelectorAll("article img")]
  .filter((image) => image.checkVisibility())
  .map((image) => [image.getAttribute("alt"), image.className, image.naturalWidth, image.src]);
"""


def program(variable: str, name: str) -> str:
    """Return where a program is; the environment may say so."""
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        raise FileNotFoundError(
            f"{name} is not installed; type: sudo apt install chromium chromium-driver, or set "
            f"{variable} to its place"
        )
    return found


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    """One browser for all tests."""
    options = webdriver.ChromeOptions()
    options.binary_location = program("CHROMIUM", "chromium")
    for flag in QUIET:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(program("CHROMEDRIVER", "chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def opened(chromium: webdriver.Chrome) -> Callable[..., webdriver.Chrome]:
    """Open a page as someone sees it who prefers a scheme, on a screen of a size."""

    def open_page(
        page: str,
        scheme: str = "light",
        screen: tuple[int, int] = DESK,
        script: bool = True,
    ) -> webdriver.Chrome:
        tell = chromium.execute_cdp_cmd
        width, height = screen
        tell("Emulation.setScriptExecutionDisabled", {"value": not script})
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        tell("Emulation.setEmulatedMedia", {"features": [preferred]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        tell("Emulation.setDeviceMetricsOverride", {**size, "mobile": screen == PHONE})
        chromium.get("about:blank")
        chromium.get_log("browser")
        chromium.get((BUILT / f"{page}.html").as_uri())
        return chromium

    return open_page


def press(browser, name, *keys):
    """Press keys on a slider, and return it."""
    control = browser.find_element(By.ID, f"try-{name}")
    control.send_keys(*keys)
    return control


def text(browser, name):
    return browser.find_element(By.ID, f"try-{name}").text


def test_there_are_pages():
    assert {PLAN, EPSILON, "index", "methods/dp_gauss"} <= set(PAGES)


# The sliders


@pytest.mark.parametrize("kind", sliders.KINDS)
@pytest.mark.parametrize("end", [Keys.HOME, Keys.END], ids=["first", "last"])
def test_a_plan_is_the_stored_one(opened, kind, end):
    browser = opened(PLAN)
    browser.find_element(By.CSS_SELECTOR, f"#try-kind option[value='{kind}']").click()
    for name in ("n", "d", "k", "epsilon"):
        press(browser, name, end)
    rows = sliders.plans()
    at = 0 if end == Keys.HOME else -1
    setting = {name: sliders.stops(rows, name)[at] for name in ("n", "d", "k", "epsilon")}
    wanted = [
        row
        for row in rows
        if row["kind"] == kind and all(row[name] == value for name, value in setting.items())
    ]
    shown = browser.find_elements(By.CSS_SELECTOR, "#try-plan-rows tr")
    cells = [
        [cell.text for cell in line.find_elements(By.CSS_SELECTOR, "th, td")] for line in shown
    ]
    assert [line[0].split()[0] for line in cells] == [row["method"] for row in wanted]
    assert [line[1] for line in cells] == [sliders.percent(float(r["captured"])) for r in wanted]
    nothing = wanted[0]["nothing"] == "yes"
    assert cells[0][0].endswith("(recommended)") is not nothing
    assert text(browser, "plan-says").startswith("No method finds this") is nothing
    assert [line[2] == "noise" for line in cells] == [nothing] * len(cells)
    numbers = "--n {n} --d {d} --k {k} --epsilon {epsilon}".format(**setting)
    assert text(browser, "shell") == f"skdppca plan {numbers}{sliders.KINDS[kind][1]}"
    assert text(browser, "python").endswith(f"{sliders.KINDS[kind][2]})")


@both_schemes
@all_screens
def test_a_slider_answers_to_the_keyboard_and_says_where_it_stands(opened, scheme, screen):
    browser = opened(EPSILON, scheme, screen)
    control = press(browser, "attack", Keys.HOME)
    for attack in sliders.attacks():
        assert control.get_attribute("aria-valuetext") == f"epsilon {attack['epsilon']}"
        assert text(browser, "attack-says").split("\n") == sliders.sentences(attack)
        curve = browser.find_element(By.ID, "try-curve")
        assert curve.get_attribute("d") == attack["curve"]
        control.send_keys(Keys.ARROW_RIGHT)


def test_tab_goes_through_all_controls_in_their_order(opened):
    browser = opened(PLAN)
    first = press(browser, "n")
    browser.execute_script("arguments[0].focus()", first)
    seen = []
    for _ in range(5):
        seen.append(browser.switch_to.active_element.get_attribute("id"))
        browser.switch_to.active_element.send_keys(Keys.TAB)
    assert seen == ["try-n", "try-d", "try-k", "try-epsilon", "try-kind"]


@pytest.mark.parametrize("page", [PLAN, EPSILON])
def test_every_control_has_a_label_and_is_large_enough_for_a_finger(opened, page):
    browser = opened(page, screen=PHONE)
    controls = browser.find_elements(By.CSS_SELECTOR, ".try input, .try select")
    assert controls
    for control in controls:
        assert control.accessible_name
        assert control.size["height"] >= 24  # WCAG 2.2 (2.5.8)
        assert control.size["width"] >= 200


@pytest.mark.parametrize("page", [PLAN, EPSILON])
def test_the_tables_fit_on_a_phone(opened, page):
    wide = "return [...document.querySelectorAll('.pst-scrollable-table-container')].map("
    wide += "(box) => box.scrollWidth - box.clientWidth)"
    # The theme puts tables into boxes once the page is there.
    beyond = WebDriverWait(opened(page, screen=PHONE), 10).until(
        lambda browser: browser.execute_script(wide)
    )
    assert max(beyond) <= 0


@pytest.mark.parametrize("page", [PLAN, EPSILON])
def test_without_scripts_there_is_a_table_and_no_dead_control(opened, page):
    browser = opened(page, script=False)
    assert not any(
        control.is_displayed() for control in browser.find_elements(By.CSS_SELECTOR, ".try input")
    )
    tables = browser.find_elements(By.CSS_SELECTOR, "article table")
    shown = [table.text for table in tables if table.is_displayed()]
    numbers = re.findall(r"\d+", "".join(shown))
    assert len(shown) == 1 and len(numbers) > 20


@pytest.mark.parametrize("page", [PLAN, EPSILON])
def test_nothing_is_loaded_from_elsewhere_and_nothing_fails(opened, page):
    browser = opened(page)
    press(browser, "n" if page == PLAN else "attack", Keys.END)
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert [name for name in loaded if not name.startswith(("file:", "data:"))] == []
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


# All pages


@pytest.fixture(
    scope="module",
    params=[(page, scheme) for page in PAGES for scheme in ("light", "dark")],
    ids="-".join,
)
def shown(request, opened):
    """A page in one scheme, opened once for all tests that only look at it."""
    page, scheme = request.param
    return opened(page, scheme), scheme


def test_all_words_can_be_read(shown):
    browser, _ = shown
    found = browser.execute_script(CONTRAST)
    assert not found, json.dumps(found[:10], indent=1)


def test_a_picture_is_there_and_says_what_it_shows(shown):
    browser, scheme = shown
    for alt, classes, width, source in browser.execute_script(SHOWN_PICTURES):
        assert width > 0, source
        if "thumb" in source:  # its title stands below it
            assert alt == ""
            continue
        assert alt is not None and len(alt.split()) >= 8, source
        if "sphx-glr" in classes:
            assert f"only-{scheme}" in classes, source


def test_a_table_has_a_caption_and_its_heads_a_scope(shown):
    browser, _ = shown
    assert browser.execute_script(MISSING_HEADS) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_a_phone(opened, page):
    browser = opened(page, screen=PHONE)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= PHONE[0]
