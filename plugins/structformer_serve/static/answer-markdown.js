// A language model's Markdown as elements. Nothing it writes is parsed as HTML or followed as an address: all of it is
// text, and only the numbers of sections that are known become links.

const FENCE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/;
const HEADING = /^ {0,3}#{1,6} +(\S.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)]) +/;
const ROW = /^ *\|.*\| *$/;
const DELIMITERS = /^ *\|(?: *:?-+:? *\|)+ *$/;
// Identifiers have underscores, so emphasis has stars alone. The bounds keep every attempt short.
const INLINE = /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|\*([^*\s](?:[^*\n]{0,500}[^*\s])?)\*|\[([^\]\n]{1,300})\]\(([^()\s]{0,500})\)|\[(\d{1,3})\]/g;
const DEEPEST = 4;

function made(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

/** What a line holds. cite(number): a link to that section, or nothing where there is none. */
function inline(text, cite, depth = 0) {
  const parts = document.createDocumentFragment();
  let place = 0;
  for (const match of depth < DEEPEST ? text.matchAll(INLINE) : []) {
    const [all, code, strong, emphasis, label, address, number] = match;
    parts.append(text.slice(place, match.index));
    place = match.index + all.length;
    if (code) parts.append(made("code", code));
    else if (strong) parts.append(made("strong", inline(strong, cite, depth + 1)));
    else if (emphasis) parts.append(made("em", inline(emphasis, cite, depth + 1)));
    else if (label) parts.append(inline(label, cite, depth + 1), address ? ` (${address})` : "");
    else parts.append(cite(Number(number)) ?? all);
  }
  parts.append(text.slice(place));
  return parts;
}

function codeBlock(lines, language) {
  const block = made("div", made("pre", made("code", lines.join("\n"))));
  block.className = "code";
  if (language) {
    const tools = made("div", made("span", language));
    tools.className = "tools";
    block.append(tools);
  }
  return block;
}

function table(rows, cite) {
  const cells = (row, name) => row.trim().slice(1, -1).split("|").map((cell) => made(name, inline(cell.trim(), cite)));
  const body = rows.slice(2).map((row) => made("tr", ...cells(row, "td")));
  const wide = made("div", made("table", made("thead", made("tr", ...cells(rows[0], "th"))), made("tbody", ...body)));
  wide.className = "wide";
  return wide;
}

function closes(line, fence) {
  const text = line.trim();
  return text.startsWith(fence) && text === fence[0].repeat(text.length);
}

/** The lines from `start` for which a test holds. */
function run(lines, start, holds) {
  let end = start;
  while (end < lines.length && holds(lines[end], end)) end++;
  return lines.slice(start, end);
}

const indentOf = (line) => /^ */.exec(line)[0].length;

/** A list of lines that begin with an item: what is indented more than an item is in it. */
function list(lines, cite, depth) {
  const [, , number] = ITEM.exec(lines[0]);
  const items = made(number ? "ol" : "ul");
  if (number) items.start = Number(number);
  for (let at = 0; at < lines.length; ) {
    const width = ITEM.exec(lines[at])[0].length;
    const least = indentOf(lines[at]);
    const below = run(lines, at + 1, (line) => !line.trim() || indentOf(line) > least);
    const own = [lines[at].slice(width), ...below.map((line) => line.slice(Math.min(width, indentOf(line))))];
    items.append(made("li", ...blocks(own, cite, depth + 1)));
    at += 1 + below.length;
  }
  return items;
}

function blocks(lines, cite, depth) {
  const found = [];
  if (depth > DEEPEST) return [inline(lines.join("\n"), cite)];
  const begins = (line) => FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || ITEM.test(line) || ROW.test(line);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const [, fence, language] = FENCE.exec(line) ?? [];
    let taken = 1;
    if (fence) {
      const inside = run(lines, at + 1, (each) => !closes(each, fence));
      found.push(codeBlock(inside, language));
      taken = inside.length + 2;
    } else if (RULE.test(line)) {
      found.push(made("hr"));
    } else if (HEADING.test(line)) {
      found.push(made("h3", inline(HEADING.exec(line)[1], cite)));
    } else if (QUOTE.test(line)) {
      const inside = run(lines, at, (each) => QUOTE.test(each));
      found.push(made("blockquote", ...blocks(inside.map((each) => each.replace(QUOTE, "")), cite, depth + 1)));
      taken = inside.length;
    } else if (ITEM.test(line)) {
      const ordered = Boolean(ITEM.exec(line)[2]);
      const least = indentOf(line);
      const goesOn = (each = "") => indentOf(each) > least || (ITEM.test(each) && Boolean(ITEM.exec(each)[2]) === ordered);
      const inside = run(lines, at, (each, place) => goesOn(each) || (!each.trim() && goesOn(lines[place + 1])));
      found.push(list(inside, cite, depth));
      taken = inside.length;
    } else if (ROW.test(line) && DELIMITERS.test(lines[at + 1] ?? "")) {
      const rows = run(lines, at, (each) => ROW.test(each));
      found.push(table(rows, cite));
      taken = rows.length;
    } else if (line.trim()) {
      const inside = [line, ...run(lines, at + 1, (each) => each.trim() && !begins(each))];
      found.push(made("p", inline(inside.join("\n"), cite)));
      taken = inside.length;
    }
    at += taken;
  }
  return found;
}

/** The elements of an answer, which may not be whole yet. */
export function rendered(text, cite) {
  return blocks(text.split("\n"), cite, 0);
}
