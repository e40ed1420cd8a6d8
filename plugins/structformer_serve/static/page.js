// The search page: without this it works by plain forms and links.
import { copyable, copyButton } from "./copying.js";
import { say, speak } from "./language.js";
import { atWords, attach, made, onShortcut, remember } from "./search-box.js";

await speak();
const { root, feedback } = document.body.dataset;
const input = document.getElementById("q");
document.head.append(made("link", { rel: "stylesheet", href: new URL("box.css", import.meta.url) }));

function tell(event) {
  if (!feedback) return;
  navigator.sendBeacon(`${root}/api/feedback`, new Blob([JSON.stringify(event)], { type: "application/json" }));
}

const hidden = Array.from(input.form.querySelectorAll("input[type=hidden]"), (each) => [each.name, each.value]);
const filters = hidden.filter(([name]) => name === "path" || name === "where"); // the box finds one list, also where two are shown
attach(input, {
  endpoint: root,
  address: (hit) => hit.url || root + hit.read,
  submit: () => input.form.submit(),
  chosen: (event) => tell({ event: "click", ...event }),
  filters,
});
if (input.value) remember(input.value.trim());
onShortcut(() => {
  input.focus();
  input.select();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".results a[data-document]");
  if (!link) return;
  const results = link.closest(".results");
  const mark = link.matches("h2 a") && link.closest("article").querySelector(".snippet mark");
  if (mark && !link.href.includes(":~:")) {
    const range = document.createRange();
    range.setStartBefore(mark);
    range.setEndAfter(mark.closest(".snippet").lastChild);
    link.href = atWords(link.href, range.toString());
  }
  const shown = Array.from(results.querySelectorAll("h2 a, h3 a"), (each) => each.dataset.document);
  tell({ event: "click", query: results.dataset.query, index: document.body.dataset.index, shown, document: link.dataset.document, section: Number(link.dataset.section) });
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches(".lost")) return;
  event.preventDefault();
  const results = document.querySelector(".results");
  const shown = Array.from(results.querySelectorAll("h2 a"), (each) => each.dataset.document);
  tell({ event: "not_found", query: results.dataset.query, index: document.body.dataset.index, shown });
  event.target.replaceWith(made("p", { role: "status" }, say("thanks")));
});

// Beside the results, what is looked at: the server shows the first one, and without a mouse the focus chooses.
const previews = new Map();
let wanted = 0;

async function preview(article) {
  const pane = document.querySelector(".preview");
  const link = article?.querySelector("a[data-document]");
  if (!pane?.offsetParent || !link || article.matches(".shown")) return;
  const { document: name, section } = link.dataset;
  const address = `${root}/preview/${name.split("/").map(encodeURIComponent).join("/")}?section=${section}`;
  const mine = ++wanted;
  try {
    if (!previews.has(address)) {
      const answer = await fetch(address);
      if (!answer.ok) return;
      previews.set(address, await answer.text());
    }
  } catch {
    return;
  }
  if (mine !== wanted) return;
  const page = new DOMParser().parseFromString(previews.get(address), "text/html");
  pane.replaceChildren(...page.body.childNodes);
  ready(pane);
  pane.scrollTop = 0;
  document.querySelector(".shown")?.classList.remove("shown");
  article.classList.add("shown");
}

let resting = 0;
for (const [event, after] of [["pointerover", 120], ["focusin", 0]]) {
  document.addEventListener(event, ({ target }) => {
    const article = target.closest?.(".found .results article");
    if (!article) return;
    clearTimeout(resting);
    resting = setTimeout(preview, after, article);
  });
}

// What is wider than the page can be scrolled by the keyboard too.
const wide = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) {
      target.tabIndex = 0;
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", say(target.matches(".wide") ? "table" : "code"));
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) target.removeAttribute(name);
    }
  }
});

function ready(part) {
  for (const code of part.querySelectorAll(".text .code")) copyable(code);
  for (const each of part.querySelectorAll(".wide, .text pre")) wide.observe(each);
}
ready(document);
const markdown = document.querySelector("a.markdown");
const written = async () => (await fetch(markdown.href)).text();
markdown?.after(made("span", { class: "markdown" }, copyButton(written, say("copy_page"), say("copy_page"))));
markdown?.remove();

// The reader on a small screen begins with the text; on a large one the contents mark what is in view.
const contents = document.querySelector(".contents");
if (contents) {
  if (matchMedia("(max-width: 56rem)").matches) contents.querySelector("details").open = false;
  const inView = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = contents.querySelector(`a[href="#${target.id}"]`);
        if (isIntersecting) link?.setAttribute("aria-current", "location");
        else link?.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-80px 0px -70% 0px" },
  );
  for (const section of document.querySelectorAll(".read section[id]")) inView.observe(section);
}

// A newer index is taken over without a reload; what is open stays open.
async function look() {
  let wait = 60000;
  try {
    const status = await (await fetch(`${root}/api/status`)).json();
    const line = document.getElementById("stage");
    if (line.textContent !== status.stage) line.textContent = status.stage;
    if (status.stage) wait = 2000;
    if (status.index !== document.body.dataset.index) await renew(status.index);
  } catch {
    wait = 10000;
  }
  setTimeout(look, wait);
}

async function renew(index) {
  const text = await (await fetch(location.href)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const results = document.querySelector(".results");
  const fresh = page.querySelector("main");
  previews.clear(); // sections may have other texts and numbers now
  if ((results || document.querySelector(".start")) && fresh && !document.querySelector(".why[open]")) {
    const main = document.importNode(fresh, true);
    main.querySelector(".top")?.after(...document.querySelectorAll("main .answer"));
    document.querySelector("main").replaceWith(main);
    ready(main);
  }
  document.querySelector("footer").replaceWith(document.importNode(page.querySelector("footer"), true));
  document.body.dataset.index = index;
}
setTimeout(look, document.body.dataset.stage ? 2000 : 30000);
