// The box's button on somebody's site, and the dialog that it opens. widget.js starts it, of a server or of a folder.

import { ELSEWHERE, PLACES } from "./box-places.js";
import { direction, say, speak } from "./language.js";
import { attach, made, onShortcut } from "./search-box.js";

const HOST = "data-structformer";
const SETTLED = 100; // milliseconds without a change of the page, before places are looked for again
const KEYS = ["keydown", "keypress", "keyup"];
const ICON = "M21 21l-5.2-5.2M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0z";

/** Whether the site is dark at this moment: by what is painted, so that every theme's switch is followed. */
function isDark() {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, opaque] = pixel.getImageData(0, 0, 1, 1).data;
    return opaque > 127 ? 0.2126 * red + 0.7152 * green + 0.0722 * blue : NaN;
  };
  for (const each of [document.body, document.documentElement]) {
    const painted = luminance(getComputedStyle(each).backgroundColor);
    if (!Number.isNaN(painted)) return painted < 128;
  }
  // Nothing is painted: the browser's own text is light where its paper is dark.
  return luminance(getComputedStyle(document.body).color) > 128;
}

function magnifier() {
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICON);
  icon.append(path);
  return icon;
}

async function sheet(address) {
  const rules = new CSSStyleSheet();
  rules.replaceSync(await (await fetch(address)).text());
  return rules;
}

function hostFor(sheets) {
  const host = made("span", { [HOST]: "" });
  host.attachShadow({ mode: "open" }).adoptedStyleSheets = sheets;
  return host;
}

/** The places of the theme that this page has. A target of one's own comes first. */
function placesHere(target) {
  const theme = PLACES.find(({ at }) => at.some(({ beside }) => document.querySelector(beside))) ?? ELSEWHERE;
  if (target && document.querySelector(target)) return { ...theme, at: [{ beside: target, put: "append", look: "button" }] };
  return theme;
}

/**
 * Put a search button where this site's theme has its search, and keep it there. files: where the box's files are;
 * target, label, own, language: as widget.js has them; box: what search-box.js needs.
 */
export async function start({ files, target = "", label = "", own = target ? "keep" : "replace", language = "", box }) {
  const styles = ["box.css", "box-button.css"].map((name) => sheet(new URL(name, files)));
  const [code, ...sheets] = await Promise.all([speak(language || document.documentElement.lang), ...styles]);
  label ||= say("search");
  const dialogHost = hostFor(sheets);
  for (const [name, value] of [["lang", code], ["dir", direction()]]) dialogHost.setAttribute(name, value);
  const input = made("input", { type: "search", autocomplete: "off", placeholder: label, "aria-label": label });
  const dialog = made("dialog", { class: "sf-dialog", "aria-label": label }, made("div", { class: "sf-field" }, input));
  dialogHost.shadowRoot.append(dialog);
  // A theme sees the host, not the field in it, and would take what is typed for its own shortcuts.
  for (const kind of KEYS) dialogHost.addEventListener(kind, (event) => event.stopPropagation());
  attach(input, box);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  function open() {
    if (!dialogHost.isConnected) document.body.append(dialogHost);
    if (!dialog.open) dialog.showModal();
    input.focus();
    input.select();
  }

  function button({ look, solid = false, style = "" }) {
    const host = hostFor(sheets);
    host.dataset.look = look;
    host.toggleAttribute("data-solid", solid || look === "floating");
    host.style.cssText = style;
    const key = made("kbd", { "aria-hidden": "true" }, /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ K" : "Ctrl K");
    const attributes = { type: "button", class: "sf-open", title: label, "aria-haspopup": "dialog", "aria-label": label };
    const opening = made("button", attributes, magnifier(), made("span", {}, label), key);
    opening.addEventListener("click", open);
    host.shadowRoot.append(opening);
    return host;
  }

  const covered = new CSSStyleSheet(); // the theme's own search, and room below what floats
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, covered];
  let theme = null;
  let placed = [];

  /** A theme may make its header again, after the page is loaded or at another width: look where buttons are missing. */
  function settle() {
    const here = placesHere(target);
    if (here.after && !document.querySelector(here.after)) return;
    if (theme?.name !== here.name) {
      for (const { host } of placed) host.remove();
      placed = [];
      theme = here;
    }
    placed = placed.filter(({ host, element }) => element.isConnected || host.remove());
    for (const place of here.at) {
      for (const element of document.querySelectorAll(place.beside)) {
        const known = placed.find((each) => each.place.beside === place.beside && each.element === element);
        if (known?.host.isConnected) continue;
        const host = known?.host ?? button(place);
        element[place.put](host);
        if (!known) placed.push({ place, element, host });
      }
    }
    adapt();
  }

  function adapt() {
    const dark = isDark();
    for (const { host, place } of placed) {
      host.hidden = innerWidth < (place.from ?? 0) || innerWidth >= (place.until ?? Infinity);
      host.toggleAttribute("data-dark", dark);
    }
    dialogHost.toggleAttribute("data-dark", dark);
    const floats = placed.some(({ host, place }) => place.look === "floating" && !host.hidden);
    const rules = [own === "replace" && theme?.own && `${theme.own}{display:none!important}`, floats && "html{padding-bottom:4rem}"];
    covered.replaceSync(rules.filter(Boolean).join(""));
  }

  settle();
  document.body.append(dialogHost);
  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(settle, SETTLED);
  };
  new MutationObserver(later).observe(document, { childList: true, subtree: true });
  const switched = new MutationObserver(later);
  for (const each of [document.documentElement, document.body]) switched.observe(each, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  addEventListener("resize", adapt);
  const replaces = () => own === "replace";
  onShortcut(open, { plain: () => (replaces() ? ["/", ...(theme?.keys ?? [])] : theme?.own ? [] : ["/"]) });
}
