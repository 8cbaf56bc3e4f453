"""A real browser on a report, and what it saw."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--lang=en-US",
)
SIZE = (1280, 900)
READY = "return document.documentElement.dataset.ready === '1'"
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(event.violatedDirective + " " + event.blockedURI);
});
window.alert = () => violations.push("alert");
"""


@dataclass(frozen=True)
class Browser:
    """Chromium, driven over loopback."""

    driver: Any

    @classmethod
    def open(cls, program: str, driver: str, profile: Path) -> Browser:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service

        options = ChromeOptions()
        options.binary_location = program
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        opened = Chrome(options=options, service=Service(driver))
        opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        return cls(opened)

    def close(self) -> None:
        self.driver.quit()

    def show(self, page: str, path: Path, *, width: int = SIZE[0], height: int = SIZE[1], dark: bool = False) -> None:
        """Open a page from a file, and wait for its script to be done."""
        from selenium.webdriver.support.ui import WebDriverWait

        path.write_text(page, encoding="utf-8")
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(path.as_uri())
        WebDriverWait(self.driver, 60, poll_frequency=0.02).until(lambda driver: driver.execute_script(READY))

    def command(self, name: str, **params: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, params)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def texts(self, selector: str) -> list[str]:
        return list(self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", selector))

    def keys(self, *keys: str) -> None:
        """Press keys where the focus is."""
        self._actions().send_keys(*keys).perform()

    def point(self, x: int, y: int) -> None:
        """Move the pointer to a place of the window."""
        actions = self._actions()
        actions.w3c_actions.pointer_action.move_to_location(x, y)
        actions.perform()

    def press(self) -> None:
        """Click where the pointer is."""
        actions = self._actions()
        actions.w3c_actions.pointer_action.click()
        actions.perform()

    def _actions(self) -> Any:
        from selenium.webdriver.common.action_chains import ActionChains

        return ActionChains(self.driver)

    def choose(self, selector: str, value: str) -> None:
        """Set a control as a user would, and wait for the page to have answered."""
        self.run(
            "const [selector, value] = arguments, control = document.querySelector(selector); control.value = value;"
            "for (const name of ['input', 'change']) control.dispatchEvent(new Event(name, { bubbles: true }))",
            selector,
            value,
        )
        self.driver.execute_async_script("setTimeout(arguments[0], 250)")

    def click(self, selector: str) -> None:
        self.run("document.querySelector(arguments[0]).click()", selector)

    def complaints(self) -> list[str]:
        """Tell errors of scripts, violations of the policy, and requests for anything but the page itself."""
        found = [f"console: {entry['message']}" for entry in self.driver.get_log("browser")]
        found += [f"policy: {item}" for item in self.run("return violations")]
        found += [
            f"entry: {item}" for item in self.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        ]
        own = self.driver.current_url.partition("#")[0]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if url.partition("#")[0] not in (own, "about:blank"):
                    found.append(f"request: {url}")
        return found

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        return int(self.run("return document.documentElement.scrollWidth - window.innerWidth"))
