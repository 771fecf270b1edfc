//! The page in a real browser: a headless Chromium of the distribution. What it looked like is kept
//! below `target/tmp/timeline/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{HOSTILE, day};
use crate::support::World;

/// The browser; a line that says SKIPPED where there is none and CI does not ask for one.
fn browser() -> Option<&'static str> {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| {
        ["/usr/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(name).exists())
    };
    let found = names.into_iter().find(|name| is_there(name));
    if found.is_none() {
        let missing = "no Chromium is here, so the page was looked at in no browser";
        assert!(std::env::var_os("SCALECTL_TEST_BROWSER").is_none(), "{missing}");
        #[expect(clippy::print_stderr, reason = "a test that is left out says so")]
        {
            eprintln!("SKIPPED: {missing} (apt-get install chromium-headless-shell)");
        }
    }
    found
}

/// Where pictures are kept.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the browser on a file of the world, with no network, and answers what it printed.
fn look(world: &World, browser: &str, file: &Path, dark: bool, args: &[&str]) -> String {
    let scheme = u8::from(!dark);
    let ran = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", world.path("browser").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .args(args)
        .arg(format!("file://{}", file.display()))
        .env_clear()
        .env("HOME", world.path(""))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:#?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// What is measured in the browser: a script that only this copy of the page has. It tells what
/// runs out of the window, text that is hard to read on its ground, and text that lies over other
/// text.
const PROBE: &str = r"
<script>
const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
const light = (colour) => {
  const part = (value) => {
    value /= 255;
    return value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  };
  const [r, g, b] = numbers(colour);
  return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
};
const ground = (at) => {
  for (; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    const all = numbers(colour);
    if (all.length < 4 || all[3] > 0) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const wrong = [];
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) wrong.push('it runs out of the window sideways');
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let count = 0;
while (texts.nextNode()) {
  const text = texts.currentNode, at = text.parentElement;
  if (!text.data.trim() || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(at.tagName)) continue;
  const style = getComputedStyle(at);
  if (style.display === 'none') continue;
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect();
  if (box.width === 0) continue;
  count += 1;
  const ink = at.namespaceURI.endsWith('svg') ? style.fill : style.color;
  const [one, other] = [light(ink), light(ground(at))].sort((a, b) => b - a);
  const contrast = (one + .05) / (other + .05);
  if (contrast < 4.5) wrong.push(`${contrast.toFixed(1)} of contrast: ${text.data}`);
  if (!at.closest('.scroll') && (box.left < 0 || box.right > width + 1))
    wrong.push(`out of the window: ${text.data}`);
}
const labels = [...document.querySelectorAll('svg text')]
  .map((at) => [at.textContent, at.getBoundingClientRect()]);
const drawing = document.querySelector('svg').getBoundingClientRect();
labels.forEach(([text, box], at) => {
  if (box.left < drawing.left - 1 || box.right > drawing.right + 1 || box.top < drawing.top - 1
      || box.bottom > drawing.bottom + 1) wrong.push(`out of the drawing: ${text}`);
  labels.slice(at + 1).forEach(([other, too]) => {
    const apart = box.right <= too.left || too.right <= box.left
      || box.bottom <= too.top || too.bottom <= box.top;
    if (!apart) wrong.push(`${text} lies over ${other}`);
  });
});
const tables = document.querySelectorAll('table').length;
const told = JSON.stringify({wrong, count, title: document.title, tables});
document.body.insertAdjacentHTML('beforeend', '<pre id=probe></pre>');
document.getElementById('probe').textContent = told;
</script>
";

/// What the probe tells of a page.
fn probed(world: &World, browser: &str, page: &str, dark: bool, width: u32) -> serde_json::Value {
    let without_policy = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"x\"");
    assert_ne!(without_policy, page, "the page forbids every script");
    let copy =
        world.write("probed.html", without_policy.replace("</main>", &format!("</main>{PROBE}")));
    let size = format!("--window-size={width},2000");
    let dom = look(world, browser, &copy, dark, &[&size, "--dump-dom"]);
    let told = dom.split("<pre id=\"probe\">").nth(1).unwrap_or_else(|| panic!("no probe: {dom}"));
    let told = told.split("</pre>").next().unwrap();
    let told = told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&told).unwrap()
}

#[test]
fn it_looks_right_in_light_and_dark_wide_and_narrow_and_on_paper() {
    let Some(browser) = browser() else { return };
    let world = day();
    world.run("timeline web --on 2026-11-24 --html day.html").exits(0);
    let file = world.path("day.html");
    let page = std::fs::read_to_string(&file).unwrap();
    let folder = pictures();
    for (name, dark, width, height) in [
        ("light", false, 1200, 1700),
        ("dark", true, 1200, 1700),
        ("narrow", false, 390, 3000),
        ("narrow-dark", true, 390, 3000),
        ("middle", false, 800, 2000),
    ] {
        let told = probed(&world, browser, &page, dark, width);
        assert_eq!(told["wrong"], serde_json::json!([]), "{name}");
        assert!(told["count"].as_u64().unwrap() > 60, "{name}: {told}");
        assert_eq!(told["tables"], 4, "{name}: {told}");
        let picture = folder.join(format!("{name}.png"));
        let (shot, size) = (
            format!("--screenshot={}", picture.display()),
            format!("--window-size={width},{height}"),
        );
        look(&world, browser, &file, dark, &[&shot, &size]);
        let bytes = std::fs::read(&picture).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{name}: {}", bytes.len());
    }
    let paper = folder.join("printed.pdf");
    let print = format!("--print-to-pdf={}", paper.display());
    // Whoever prints from a dark screen gets ink on white all the same.
    look(&world, browser, &file, true, &[&print, "--no-pdf-header-footer"]);
    let bytes = std::fs::read(&paper).unwrap();
    assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 20_000, "{}", bytes.len());
}

#[test]
fn a_hostile_reason_stays_a_text_in_a_browser() {
    let Some(browser) = browser() else { return };
    let world = World::with_fake();
    world.run_args(&["scale", "web=2", "--key", "k1", "--reason", HOSTILE]).exits(0);
    world.run("timeline web --since 1h --html t.html").exits(0);
    let page = std::fs::read_to_string(world.path("t.html")).unwrap();
    // Without the policy of the page: the escape alone has to hold.
    let told = probed(&world, browser, &page, false, 1200);
    assert_ne!(told["title"], "owned");
    assert_eq!(told["wrong"], serde_json::json!([]));
    let dom = look(&world, browser, &world.path("t.html"), false, &["--dump-dom"]);
    assert_eq!(dom.matches("<script").count(), 0, "{dom}");
    assert_eq!(dom.matches("<img").count(), 0, "{dom}");
}
