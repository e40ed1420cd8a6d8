// A search in files: words by BM25, meaning by the corpus's static encoder; a document's parts count for it as on the server.

const CONSIDERED = 400; // passages that words find
const OPENED = 25; // documents whose passages are compared, where not all of them are at hand
const ALIKE = 4; // letters that an unknown word has in common with those that stand for it
const ENDED = 6; // letters of a word that may end otherwise
const READ = 60; // passages whose beginnings are read for a phrase
const OTHER_FORM = 0.3; // what a part of camelCase, or a word without its accents, counts
const WHOLE = 12; // what a query's only name counts beside its words,
const AMONG_WORDS = 4; // and one in a longer query
const RARE = 3; // that at most so many passages have,
const OF_A_RELEASE = 12; // or a version
const JOINING = ["", "_", "-", ".", "/", ":", "::", "->"]; // what words of a name are joined by
const MIXED = 3; // from so many gaps between words on, all have the same sign
const EVEN = 1.4; // doubt, as structformer/retrieval/rankings/doubt.py has it,
const POWER = 1.2;
const PER_WORD = 0.12; // of words SHORT to LONG of a question
const [SHORT, LONG] = [6, 14];
const DOUBTED = 0.38; // and ranking.py
const SHARES = [1, 0.5, 0.25, 0.125]; // of a document's best passages by words
const SECTIONS = 30; // passages that are looked through for a heading that the query is
const LOOKED_AT = 10; // documents whose titles are looked at; documents of one file name
const PARTS_OF_A_NAME = 0.3; // what is left of that where no page has the whole name that is asked for
const IS_RIGHT = 0.9; // how likely a document is right whose name the query is
const TYPED = 64; // words of a query that are looked for as they are typed

const kept = new Map();

/** A file of the site, asked for once. */
function file(base, name, kind) {
  const address = new URL(name, base).href;
  if (!kept.has(address)) {
    const asked = fetch(address).then((response) => {
      if (!response.ok) throw new Error(`${address}: ${response.status}`);
      return kind === "json" ? response.json() : response.arrayBuffer();
    });
    asked.catch(() => kept.delete(address));
    kept.set(address, asked);
  }
  return kept.get(address);
}

/** Open the search of a site. base: where its files are. */
export async function open(base) {
  const meta = await file(base, "meta.json", "json");
  const starts = new Uint32Array(await file(base, "starts.bin"));
  return new Search(base, meta, starts);
}

class Search {
  constructor(base, meta, starts) {
    this.base = base;
    this.meta = meta;
    this.starts = starts;
    this.prefixes = new Map(meta.words.map((prefix, number) => [prefix, number]));
    this.common = new Set(meta.common); // words of most passages: of each the best are listed
    this.runs = new RegExp(`([${meta.unspaced}]+)`, "u"); // of scripts without spaces
    this.hidden = new Set(meta.curated.hide);
    this.logs = new Set(meta.logs.documents); // of releases
    this.changes = new RegExp(meta.logs.asked, "iu"); // what asks for them
    this.reference = new RegExp(meta.reference, "g"); // numbers such as CVE-2031-1234
    this.nowhere = new Set(meta.unsaid); // function words that no passage has
    this.pages = new Map(meta.pages.flatMap((page) => page.map(([document]) => [document, page]))); // of documents with copies or versions
  }

  get title() {
    return this.meta.title;
  }

  cut(text) {
    return cut(text, this.runs, this.meta.folding);
  }

  owner(unit) {
    return lastUpTo(this.starts, unit);
  }

  /**
   * Search. typing: the last word may be unfinished, and words alone are compared; meaning: whether vectors are. Gives up to k documents
   * with their best sections.
   */
  async search(query, { k = 10, typing = false, meaning = true } = {}) {
    const begun = performance.now();
    const asks = await this.asked(typing ? query : this.expanded(query));
    const words = [...new Set(this.cut(asks.text).words)];
    const vector = typing || !meaning || !this.meta.vectors ? null : this.encode(asks.text);
    const others = typing ? [new Map(), new Map()] : [this.present(asks.text), this.called(words)];
    const slips = new Map();
    const [[byWords, most], encoded, present, called] = await Promise.all([this.words(asks.text, typing, slips), vector, ...others]);
    const doubt = typing ? {} : await this.doubt(words, most);
    const scores = await this.scored(byWords, encoded, present, called, asks.text);
    const found = [...scores].filter(([unit]) => (typing || !asks.allowed || asks.allowed(unit)) && !this.hidden.has(this.owner(unit)));
    const sorted = found.sort(bestFirst);
    const [named, isNamed] = typing ? [sorted, false] : await this.named(query, sorted);
    const first = typing || isNamed ? named : await this.headed(query, named);
    if (isNamed) doubt.missing = [];
    if (isNamed && doubt.likely !== undefined) Object.assign(doubt, { likely: Math.max(doubt.likely, IS_RIGHT), confident: true });
    const absent = typing || isNamed ? "" : await this.absentName(asks.text);
    if (absent) doubt.missing = [absent];
    if (absent && doubt.likely !== undefined) doubt.confident = (doubt.likely *= PARTS_OF_A_NAME) >= DOUBTED;
    const ranked = this.pinned(query, first);
    const hits = await this.hits(query, ranked, words, k, typing);
    const searched = slips.size ? query.replace(WORD, (word) => slips.get(normal(word)) || word) : "";
    return { query, searched, index: "static", confident: true, likely: null, missing: [], absent_phrases: asks.absent, ...doubt, hits, documents: new Set(ranked.map(([unit]) => this.page(this.owner(unit)))).size, milliseconds: Math.round(performance.now() - begun) };
  }

  /** A query with its synonyms from search.toml. */
  expanded(query) {
    const has = (words) => new RegExp(`(?<![\\p{L}\\p{N}_])${words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}_])`, "u").test(query.toLowerCase());
    const added = Object.entries(this.meta.curated.synonyms).filter(([word, meaning]) => has(word) && !has(meaning));
    return [query, ...new Set(added.map(([, meaning]) => meaning))].join(" ");
  }

  /** Ranked passages, first those of documents whose file name, address or title the query is (structformer/retrieval/query_parts.py); whether any are. */
  async named(query, ranked) {
    const best = new Map();
    for (const [unit] of ranked) if (!best.has(this.owner(unit))) best.set(this.owner(unit), unit);
    const inOne = (text) => text.replace(/[ -]/g, "");
    const asked = comparable(query);
    const called = (title) => {
      const ways = [title, title.split(/\s(?:[—–|·:-]|::)\s/u)[0]].map(comparable);
      return asked && (ways.includes(asked) || (!asked.includes(" ") && ways.map(inOne).includes(inOne(asked))));
    };
    const found = [...best.keys()].slice(0, LOOKED_AT);
    const titles = await Promise.all(found.map(async (document) => (await this.row("d", document))[1]));
    const { places, anchor } = askedPlaces(query);
    const order = new Map([...best.keys()].map((document, place) => [document, place]));
    const at = (document) => order.get(document) ?? order.size;
    const there = (await this.documentsAt(places)).filter((document) => !this.hidden.has(document)).sort((one, two) => at(one) - at(two));
    const documents = new Set([...there.slice(0, LOOKED_AT), ...found.filter((_, place) => called(titles[place]))]);
    const first = await Promise.all([...documents].map((document) => this.unitAt(document, anchor, best.get(document) ?? this.starts[document])));
    const top = ranked[0]?.[1] ?? 0;
    const all = [...first.map((unit, place) => [unit, top + first.length - place]), ...ranked.filter(([unit]) => !first.includes(unit))];
    return [all, first.length > 0];
  }

  /** Ranked passages, first the one whose heading the query is, if that is one name: logLevel, v2.3.1. */
  async headed(query, ranked) {
    const asked = unversioned(query);
    const isMixed = /\p{Lu}/u.test(query.slice(1)) && query !== query.toUpperCase();
    if (/\s/u.test(asked) || !(isMixed || this.cut(query).names.length)) return ranked;
    const rows = await Promise.all(ranked.slice(0, SECTIONS).map(([unit]) => this.row("u", unit)));
    const titles = rows.map(([, section, path]) => (section ? unversioned(path.at(-1)) : ""));
    const called = [...titles.keys()].filter((place) => ` ${titles[place]} ${titles[place].split("(")[0]} `.includes(` ${asked} `));
    const [first] = called.sort((one, two) => titles[one].length - titles[two].length);
    return first ? [[ranked[first][0], ranked[0][1] + 1], ...ranked.filter((_, place) => place !== first)] : ranked;
  }

  /** The documents at the first of these paths, file names and addresses that has any. */
  async documentsAt(places) {
    for (const place of this.meta.places.length ? places : []) {
      const content = await file(this.base, `p/${lastUpTo(this.meta.places, place)}.json`, "json");
      if (Object.hasOwn(content, place)) return content[place];
    }
    return [];
  }

  /** A document's passage at an anchor, or else another one. */
  async unitAt(document, anchor, other) {
    for (let unit = this.starts[document]; anchor && unit < this.starts[document + 1]; unit++) if ((await this.row("u", unit))[3] === anchor) return unit;
    return other;
  }

  /** Ranked passages, first the document that search.toml pins. */
  pinned(query, ranked) {
    const document = this.meta.curated.pins[query.toLowerCase().split(/\s+/u).filter(Boolean).join(" ").replace(/\?+$/, "")];
    if (document === undefined) return ranked;
    const unit = ranked.find(([each]) => this.owner(each) === document)?.[0] ?? this.starts[document];
    return [[unit, (ranked[0]?.[1] ?? 0) + 1], ...ranked.filter(([each]) => each !== unit)];
  }

  /** A query's text, which passages may be found (null for all), and the phrases that no page has: see structformer/retrieval/query_parts.py. */
  async asked(query) {
    const { text, phrases, without, quoted } = asked(query, this.runs, this.meta.folding);
    const several = (part) => /\S\s+\S/u.test(part);
    const unwanted = await Promise.all(without.map((word) => this.holding(word)));
    const options = await Promise.all(without.filter((word) => !several(word)).map((word) => this.written(`-${normal(word)}`)));
    const chunks = phrases.flatMap((phrase) => phrase.split(/\s+/u));
    const plain = text.split(/\s+/u).filter((chunk) => chunk && !chunks.includes(chunk));
    const meant =
      !options.some((units) => units.length) &&
      plain.length <= MOST_PLAIN &&
      plain.every((chunk) => PLAIN.test(chunk) || /^[\p{L}\p{N}]+$/u.test(chunk)) &&
      without.every((word, place) => (several(word) || PLAIN.test(word)) && unwanted[place].units.length);
    if (without.length && !meant) return { text: query, allowed: null, absent: [] };
    const binding = phrases.filter((phrase) => quoted || several(phrase));
    const held = await Promise.all(binding.map((phrase) => this.holding(phrase)));
    const absent = binding.filter((_, place) => !held[place].units.length);
    const bound = quoted && absent.length ? [] : held.filter(({ units, sure }) => units.length && (quoted || sure)).map(({ units }) => units);
    const all = bound.length ? new Set(inAll(bound)) : new Set(); // none where each phrase is on another page
    const gone = new Set(unwanted.flatMap(({ units }) => units).map((unit) => this.owner(unit)));
    const allowed = all.size || gone.size ? (unit) => (!all.size || all.has(unit)) && !gone.has(this.owner(unit)) : null;
    return { text, allowed, absent };
  }

  /** The passages that may have a text as it is written, and whether one surely has: of long passages the beginning is at hand. */
  async holding(text) {
    const { words, names } = this.cut(text);
    const name = /\S\s+\S/u.test(text) ? undefined : names[0];
    const named = name ? await this.written(name) : [];
    if (name && (named.length || words.length < 2)) return { units: named, sure: named.length > 0 };
    const small = await Promise.all(words.map(async (word) => this.nowhere.has(word) || (await this.unsaid(word))));
    const telling = words.filter((_, place) => !small[place]);
    const any = async (word) => [...(await this.postings(word, false, true)).keys()];
    const lists = await Promise.all(telling.length ? telling.map((word) => this.written(word)) : words.map(any));
    const units = inAll(telling.length ? lists : lists.filter((list) => list.length));
    if (words.length < 2) return { units, sure: units.length > 0 };
    const said = (each) => ` ${this.cut(each).words.join(" ")} `;
    const rows = await Promise.all(units.slice(0, READ).map((unit) => this.row("u", unit)));
    const has = rows.map(([, , path, , shown]) => said(`${path.at(-1) ?? ""} ${shown}`).includes(said(text)));
    return { units: units.filter((_, place) => place >= READ || has[place] || rows[place][4].endsWith(" …")), sure: has.includes(true) };
  }

  /**
   * How likely the first document is right, by how much of what the words are worth the best passage has (most), which is enough where a passage
   * has all; not said of scripts without spaces. missing: the words that no passage has.
   */
  async doubt(words, most) {
    const counts = []; // of each telling word, how many passages have it
    const missing = [];
    let together; // passages that have all of them
    for (const word of words.slice(0, TYPED)) {
      if (this.nowhere.has(word) || (await this.unsaid(word))) continue;
      const passages = await this.having(word);
      if (!passages) missing.push(word);
      counts.push(passages);
      const its = new Set([...(await this.postings(word, false, true))].map(([unit]) => unit));
      together = together ? together.filter((unit) => its.has(unit)) : [...its];
    }
    if (words.some((word) => this.runs.test(word))) return { missing };
    const worth = counts.reduce((sum, passages) => sum + this.idf(Math.max(1, passages)), 0);
    const share = !counts.length ? 1 : together.length ? Math.max(1, most / worth) : missing.length < counts.length ? most / worth : 0;
    const grown = share ** POWER * Math.exp(PER_WORD * Math.max(0, Math.min(words.length, LONG) - SHORT));
    const likely = grown / (grown + EVEN);
    return { missing, likely, confident: likely >= DOUBTED };
  }

  /**
   * BM25 by passage, as a share of the best, and what that is. slips: takes what stands for words that no passage has. every: with the words of
   * most passages, which count where there is nothing else.
   */
  async words(text, typing, slips, every = false) {
    const { words, spaced, names } = this.cut(text);
    const own = new Set(words);
    const all = [...own].map((word, place) => [word, typing && place === own.size - 1, false, 1]);
    const asks = all.filter(([word]) => every || !this.common.has(word));
    const left = asks.length < all.length;
    for (const form of new Set(spaced)) if (!own.has(form)) asks.push([form, false, true, OTHER_FORM]);
    const { one, names: wanted } = typing ? { one: "", names: [] } : await this.asksFor(text);
    const worth = one ? WHOLE : AMONG_WORDS;
    for (const name of new Set(names)) asks.push([name, false, true, wanted.includes(name) ? 1 + worth / this.meta.names : 1]);
    const its = this.cut(one || text);
    const parts = one ? its.spaced.slice(its.words.length) : words;
    if (one && !its.names.length && parts.length && asks.length) asks[0][3] += worth;
    if (!typing && !(one && wanted.length)) {
      joined(parts.length ? parts : its.words).forEach((name, place) => asks.push([name, false, true, place ? worth / this.meta.names : worth]));
      for (const name of await this.inTwo(its.words)) asks.push([name, false, true, worth / this.meta.names]);
    }
    const found = new Map();
    const counts = new Map();
    const lists = await Promise.all(asks.map(([word, unfinished, exact]) => this.postings(word, unfinished, exact, slips)));
    lists.forEach((list, number) => {
      const [word, , exact, weight] = asks[number];
      for (const [unit, score] of list) {
        add(found, unit, weight * score);
        if (!exact && !this.common.has(word)) add(counts, unit, 1);
      }
    });
    if (typing && counts.size) {
      const most = Math.max(...counts.values());
      for (const unit of found.keys()) if ((counts.get(unit) || 0) < most) found.delete(unit);
    }
    if (left && !found.size) return this.words(text, typing, slips, true);
    const best = [...found].sort(bestFirst).slice(0, CONSIDERED);
    const highest = best.length ? best[0][1] : 1;
    return [new Map(best.map(([unit, score]) => [unit, score / highest])), highest * this.meta.step];
  }

  /** The beginning of a word whose file has it; "" for none. */
  prefix(word) {
    let prefix = word.slice(0, 6);
    while (prefix && !this.prefixes.has(prefix)) prefix = prefix.slice(0, -1);
    return prefix;
  }

  async filed(word) {
    const prefix = this.prefix(word);
    return prefix ? file(this.base, `w/${this.prefixes.get(prefix)}.json`, "json") : null;
  }

  /** The file that has a telling word, with the number of its term there; null for other words. */
  async telling(word) {
    const content = await this.filed(word);
    return content && Object.hasOwn(content.forms, word) && !content.unsaid.includes(word) && !this.common.has(word) ? { ...content, row: content.forms[word] } : null;
  }

  /** How many passages have a word, or where none has it, what it begins or is another form of. */
  async having(word) {
    const { forms, postings } = (await this.filed(word)) || { forms: {} };
    const begun = (letters) => Object.keys(forms).filter((form) => form.startsWith(letters));
    const its = Object.hasOwn(forms, word) ? [word] : [...begun(word), ...(word.length > ENDED ? begun(word.slice(0, -3)) : [])];
    return Math.max(0, ...its.map((form) => postings[forms[form]].length / 2));
  }

  async unsaid(word) {
    return this.common.has(word) || !!(await this.filed(word))?.unsaid.includes(word);
  }

  /** The names that words are of which no passage has any as it is: in two parts (`nodejs` Node.js), or in letters (`usa` U.S.A.). */
  async inTwo(words) {
    const names = (word) => [...Array.from(word.slice(1), (_, at) => [word.slice(0, at + 1), word.slice(at + 1)]).flatMap((pair) => JOINING.slice(1).map((sign) => pair.join(sign))), Array.from(word).join(".")];
    const has = await Promise.all(words.map(async (word) => word.length > TYPED || Object.hasOwn((await this.filed(word))?.forms ?? {}, word)));
    return words.filter((_, place) => !has[place]).flatMap(names);
  }

  async written(word) {
    const found = await this.telling(word);
    if (!found) return [];
    const units = added(found.postings[found.row].filter((_, place) => place % 2 === 0));
    if (Object.hasOwn(found.has, word)) return added(found.has[word]).map((place) => units[place]);
    const gone = new Set(Object.hasOwn(found.lacks, word) ? added(found.lacks[word]) : []);
    return units.filter((_, place) => !gone.has(place));
  }

  /** The name that a chunk of a query is, or the longest part of it that a passage has, and the passages that have it. */
  async known(chunk) {
    for (const name of this.cut(chunk).names) {
      const units = await this.written(name);
      if (units.length) return [name, units];
    }
    return ["", []];
  }

  /** The chunks of a text, and those that are more than function words. */
  async chunks(text) {
    const chunks = text.trim().split(/\s+/u).slice(0, TYPED);
    const telling = [];
    for (const chunk of chunks) {
      const said = await Promise.all(this.cut(chunk).words.map((word) => this.unsaid(word)));
      if (!said.length || said.includes(false)) telling.push(chunk);
    }
    const rest = telling.some((chunk) => RELEASE.test(chunk)) ? telling.filter((chunk) => !OF_RELEASES.test(chunk)) : telling;
    return [chunks, rest];
  }

  /** The name in a query, or the word with numbers that it is, which no passage has (structformer/retrieval/words/names.py); else "". */
  async absentName(text) {
    const [, telling] = await this.chunks(text);
    const bare = (each) => each.replace(/^[?!.,;:()[\]'"`“”]+|[?!.,;:()[\]'"`“”]+$/gu, "");
    const whole = bare(telling.join(" "));
    const parts = telling.length > 1 && !this.runs.test(whole) ? whole.match(NUMBERED) : null;
    if (parts) return (await this.together(whole, parts[1], parts[2].split(/\s+/u))) ? "" : whole;
    const listed = telling.every((each) => this.isReference(each));
    const names = telling.length === 1 || listed ? telling : whole.match(this.reference) || [];
    if (names.length > 1 && !listed) return "";
    for (const name of names.map(bare)) if (await this.lacks(name)) return name;
    return "";
  }

  isReference(name) {
    return (name.match(this.reference) || [])[0] === name;
  }

  /** Whether no passage has a name that is written as no prose is. */
  async lacks(name) {
    const { words, spaced, names } = this.cut(name);
    const written = NO_PROSE.test(name) || (name !== name.toLowerCase() && name === name.toUpperCase()) || /\p{N}/u.test(name);
    if (this.runs.test(name) || !(this.isReference(name) || (written && words.length > 1))) return false;
    const isEnd = (part) => {
      const at = normal(name).indexOf(part);
      return !normal(name).slice(0, Math.max(0, at)).endsWith("@") && !/^[-./\w]/.test(normal(name).slice(at + part.length));
    };
    const codes = (name.match(WORD) || []).filter((word) => CODE.test(word)).map(normal);
    const ways = [...names.filter(isEnd), ...joined(words.length > 1 ? words : spaced.slice(words.length)), ...(await this.inTwo(words.length > 1 ? [] : words)), ...codes];
    for (const way of ways) if ((await this.written(way)).length) return false;
    const small = await Promise.all(words.map((word) => this.unsaid(word)));
    return small.includes(true) || !(await this.holding(name)).units.length;
  }

  /** Whether a passage has a word, in any form, and its numbers. */
  async together(whole, word, numbers) {
    for (const way of joined(this.cut(whole).words)) if ((await this.written(way)).length) return true;
    const any = this.cut(word).words.map(async (each) => [...(await this.postings(each, false, true)).keys()]);
    const held = await Promise.all(numbers.map(async (number) => (await this.holding(number)).units));
    return inAll([(await Promise.all(any)).flat(), ...held]).length > 0;
  }

  /** The names that count much in a query: the one that it is, but for function words, or rare ones that cannot be prose. */
  async asksFor(text) {
    const [chunks, telling] = await this.chunks(text);
    const one = chunks.length === 1 ? chunks[0] : telling.length === 1 && this.cut(telling[0]).names.length ? telling[0] : "";
    if (one) return { one, names: [(await this.known(one))[0]].filter(Boolean) };
    const asked = chunks.filter((chunk) => chunk.length <= LONGEST && (NO_PROSE.test(chunk) || RELEASE.test(chunk)));
    const known = await Promise.all(asked.map(async (chunk) => [...(await this.known(chunk)), RELEASE.test(chunk) ? OF_A_RELEASE : RARE]));
    return { one, names: known.filter(([name, units, most]) => name && units.length <= most).map(([name]) => name) };
  }

  /** By passage, how much of a query it has as it is typed: names as wholes, and words, by how rare they are. */
  async present(text) {
    const found = new Map();
    let parts = 0; // what all of it would be worth
    const addAll = (units, worth) => units.forEach((unit) => add(found, unit, worth));
    const one = async (chunk) => {
      const { words, names } = this.cut(chunk);
      const [name, its] = await this.known(chunk);
      if (name) {
        parts += this.idf(its.length);
        addAll(its, this.idf(its.length));
        if (name === names[0]) return;
      }
      const said = [];
      for (const word of words.slice(0, TYPED)) if (!(await this.unsaid(word))) said.push(word);
      const lists = await Promise.all(said.map((word) => this.written(word)));
      parts += lists.reduce((sum, units) => sum + this.idf(units.length), 0) * (lists.length > 1 ? 2 : 1);
      for (const units of lists) addAll(units, this.idf(units.length));
      const rest = lists.slice(1).map((units) => new Set(units));
      if (rest.length) addAll(lists[0].filter((unit) => rest.every((units) => units.has(unit))), lists.reduce((sum, units) => sum + this.idf(units.length), 0));
    };
    await Promise.all([...new Set(text.split(/\s+/u).filter(Boolean))].slice(0, TYPED).map(one));
    const { words, spaced } = this.cut(text);
    const several = text.trim().split(/\s+/u).length > 1 || spaced.length === words.length;
    const its = [...joined(several ? words : spaced.slice(words.length)), ...(await this.inTwo(words.length > 1 ? [] : words))];
    const lists = await Promise.all(its.map((name) => this.written(name)));
    const whole = [...new Set(lists.flat())];
    if (whole.length) addAll(whole, Math.max(parts, this.idf(whole.length)));
    return found;
  }

  /** By document, how much of a query others call it by, by how rare the words are. */
  async called(words) {
    const found = new Map();
    for (const its of await Promise.all(words.slice(0, TYPED).map((word) => this.telling(word)))) {
      for (const document of added(its?.called[its.row] || [])) add(found, document, this.idf(its.postings[its.row].length / 2));
    }
    return found;
  }

  idf(passages) {
    return Math.log(1 + (this.meta.units - passages + 0.5) / (passages + 0.5));
  }

  /** The passages of a word; where there is none, unless it is to be exact, of words that begin with it or are nearly it. */
  async postings(word, unfinished, exact = false, slips = new Map()) {
    const prefix = this.prefix(word);
    const files = prefix ? [prefix] : [];
    if (unfinished || (!prefix && !exact)) {
      for (const each of this.prefixes.keys()) if (each.startsWith(word) && files.length < 4 && each !== prefix) files.push(each);
    }
    const merged = new Map();
    for (const each of files) {
      const { forms, postings } = await file(this.base, `w/${this.prefixes.get(each)}.json`, "json");
      let rows = Object.hasOwn(forms, word) && !unfinished ? [forms[word]] : [];
      if (!rows.length && !exact) rows = Object.keys(forms).filter((form) => form.startsWith(word)).slice(0, 40).map((form) => forms[form]);
      if (!rows.length && !exact && word.length >= 4) {
        const alike = Object.keys(forms).filter((form) => near(form, word, unfinished)).slice(0, 8);
        rows = alike.map((form) => forms[form]);
        const often = (form) => postings[forms[form]].length;
        if (alike.length) slips.set(word, alike.reduce((best, form) => (often(form) > often(best) ? form : best)));
      }
      for (const row of new Set(rows)) {
        const list = postings[row];
        let unit = 0;
        for (let place = 0; place < list.length; place += 2) {
          unit += list[place];
          merged.set(unit, Math.max(merged.get(unit) || 0, list[place + 1]));
        }
      }
    }
    return merged;
  }

  /** A query's vector: the sum of its words', of length one; null where none of them is known. */
  async encode(query) {
    const { dimensions, reading } = this.meta.vectors;
    const counts = new Map();
    for (const word of wordsOf(query, this.runs, reading)) add(counts, word, 1);
    const rows = await Promise.all([...counts.keys()].map((word) => this.vector(word)));
    const sum = new Float32Array(dimensions);
    [...counts.values()].forEach((count, number) => {
      const times = (count * (1 + reading.saturation)) / (count + reading.saturation);
      rows[number].forEach((value, place) => (sum[place] += times * value));
    });
    const length = Math.hypot(...sum);
    return length ? sum.map((value) => value / length) : null;
  }

  /** A word's vector; of one that the corpus does not have the mean of those that begin like it. */
  async vector(word) {
    const { dimensions, words, firsts } = this.meta.vectors;
    const sum = new Float32Array(dimensions);
    if (!firsts.length) return sum;
    const chunk = lastUpTo(firsts, word);
    const size = this.meta.chunk.r;
    const bytes = await file(this.base, `r/${chunk}.bin`);
    const count = Math.min(size, words - chunk * size);
    const its = new TextDecoder().decode(new Uint8Array(bytes, count * (4 + dimensions))).split("\n");
    const same = its.map((other) => common(other, word));
    const most = Math.max(...same);
    let wanted = [its.indexOf(word)];
    if (wanted[0] < 0) wanted = most < ALIKE ? [] : its.flatMap((_, place) => (same[place] === most ? [place] : []));
    for (const number of wanted) {
      const scale = new DataView(bytes).getFloat32(4 * number, true) / 127 / wanted.length;
      const row = new Int8Array(bytes, 4 * count + number * dimensions, dimensions);
      for (let place = 0; place < dimensions; place++) sum[place] += scale * row[place];
    }
    return sum;
  }

  /** The score of every passage that may be shown. present: by passage, called: by document; text: the query. */
  async scored(byWords, vector, present, called, text) {
    const byDocument = new Map();
    for (const [unit, share] of byWords) {
      const document = this.owner(unit);
      if (!byDocument.has(document)) byDocument.set(document, []);
      byDocument.get(document).push(share);
    }
    for (const [document, shares] of byDocument) {
      shares.sort((one, two) => two - one);
      byDocument.set(document, SHARES.reduce((total, weight, place) => total + weight * (shares[place] || 0), 0));
    }
    const whole = (document) => byDocument.get(document) || 0;
    const typed = text.trim().split(/\s+/u).length;
    const dated = typed <= this.meta.weights.words && /(?<![\p{L}\p{N}_.])v?[0-9]+(?:\.[0-9]+)+/u.test(text);
    const counted = wordCount(text, this.runs) === 1 ? this.meta.weights.name : dated ? this.meta.weights.version : this.meta.weights;
    const share = Math.min(1, this.meta.weights.words / Math.max(1, typed)); // a sum of many words' vectors says little
    const weights = [counted.dense * share, counted.overview * share, counted.lexical, counted.document, counted.present ?? 0, counted.called ?? 0]; // a weight of zero is not listed
    const parts = new Map(); // of a passage: its cosine, its document's overview's, its words' score, its document's, its typed words, its document's links
    const part = (unit, document, cosine, overview) => parts.set(unit, [cosine, overview, byWords.get(unit) || 0, whole(document), present.get(unit) || 0, called.get(document) || 0]);
    const behind = (scores) => (this.logs.size && !this.changes.test(text) ? new Map([...scores].map(([unit, score]) => [unit, score - (this.logs.has(this.owner(unit)) ? this.meta.logs.loss : 0)])) : scores);
    if (!vector) {
      for (const unit of byWords.keys()) part(unit, this.owner(unit), 0, 0);
      return behind(standardised(parts, weights));
    }
    const overviews = cosines(await file(this.base, "o.bin"), vector);
    const compare = (first, found) => {
      found.forEach((cosine, place) => {
        const document = this.owner(first + place);
        part(first + place, document, cosine, overviews[document]);
      });
    };
    if (this.meta.vectors.whole) {
      compare(0, cosines(await file(this.base, "v.bin"), vector));
    } else {
      const its = new Map(Array.from(overviews, (cosine, document) => [document, [cosine, whole(document), called.get(document) || 0]]));
      const documents = [...standardised(its, [weights[0] + weights[1], weights[2] + weights[3], weights[5]])];
      documents.sort(bestFirst);
      const size = this.meta.chunk.v;
      const wanted = new Set();
      const opened = new Set(documents.slice(0, OPENED).map(([document]) => document));
      for (const document of opened) {
        for (let unit = this.starts[document]; unit < this.starts[document + 1]; unit += size) wanted.add(Math.floor(unit / size));
        wanted.add(Math.floor((this.starts[document + 1] - 1) / size));
      }
      const chunks = await Promise.all([...wanted].map(async (chunk) => [chunk, await file(this.base, `v/${chunk}.bin`)]));
      for (const [chunk, bytes] of chunks) compare(chunk * size, cosines(bytes, vector));
      for (const unit of parts.keys()) if (!opened.has(this.owner(unit))) parts.delete(unit);
    }
    const nearest = [...parts].sort((one, two) => two[1][0] + two[1][1] - one[1][0] - one[1][1] || one[0] - two[0]);
    const looked = new Set([...nearest.slice(0, CONSIDERED).map(([unit]) => unit), ...byWords.keys()]);
    return behind(standardised(new Map([...parts].filter(([unit]) => looked.has(unit))), weights));
  }

  /** What a document's copies and versions have in common: the page, or its own number. */
  page(document) {
    return this.pages.get(document) ?? document;
  }

  /** The first documents as they are shown, copies and versions of a page as one. */
  async hits(query, ranked, words, k, typing) {
    const found = new Map(); // by page: the best passages of each of its documents
    for (const [unit, score] of ranked) {
      const document = this.owner(unit);
      const page = this.page(document);
      if (!found.has(page)) {
        if (found.size >= k) continue;
        found.set(page, new Map());
      }
      const its = found.get(page);
      if (!its.has(document)) its.set(document, []);
      if (its.get(document).length < 4) its.get(document).push([unit, score]);
    }
    const shown = await Promise.all(
      [...found].map(async ([page, its]) => {
        const units = its.get(its.size > 1 ? await this.preferred(page, its, query) : its.keys().next().value);
        const rows = await Promise.all(units.map(([unit]) => this.row("u", unit)));
        const [id, title, address] = await this.row("d", rows[0][0]);
        const sections = [];
        rows.forEach((row, place) => {
          if (!sections.some((each) => each.section === row[1])) sections.push(section(row, id, address, units[place][1], words, this.runs));
        });
        if (typing) this.sort(sections, words);
        return { ...sections[0], document_title: title || id, sections: sections.slice(1) };
      }),
    );
    if (typing) this.sort(shown, words);
    return shown;
  }

  /** Of a page's documents the version that a query names, else the newest that has what was found at the same place. */
  async preferred(page, its, query) {
    const asked = query.toLowerCase().split(/\s+/u).map((word) => word.replace(/^[?!.,;:()'"]+|[?!.,;:()'"]+$/gu, ""));
    const [best] = its.keys();
    const order = new Map(page.map(([document, place, ...names]) => [document, { place, named: names.some((name) => asked.includes(name)) }]));
    const there = [...its.keys()].sort((one, two) => order.get(one).place - order.get(two).place);
    const rows = new Map(await Promise.all(there.map(async (document) => [document, await this.row("u", its.get(document)[0][0])])));
    const [, , path, anchor] = rows.get(best);
    const below = (titles) => JSON.stringify(titles.slice(1));
    const placed = (each) => each === best || (anchor && rows.get(each)[3] === anchor) || below(rows.get(each)[2]) === below(path);
    const named = there.filter((each) => order.get(each).named);
    return named.find(placed) ?? named[0] ?? there.find(placed);
  }

  /** Those first whose titles are what is being typed. */
  sort(hits, words) {
    const titled = new Map(hits.map((hit) => [hit, likeness(this.cut(hit.path[hit.path.length - 1] || "").words, words)]));
    hits.sort((one, two) => titled.get(two) - titled.get(one) || two.score - one.score);
  }

  async row(name, number) {
    const size = this.meta.chunk[name];
    return (await file(this.base, `${name}/${Math.floor(number / size)}.json`, "json"))[number % size];
  }
}

function section([, number, path, anchor, text], id, address, score, words, runs) {
  const url = anchor && !address.includes("#") ? `${address}#${encodeURIComponent(anchor)}` : address;
  return { document: id, section: number, title: path.at(-1) || id, path, anchor, url, read: url, snippet: text, highlights: highlights(text, words, runs), score };
}

/** How well a title of these words is what is being typed. */
function likeness(title, words) {
  const begun = words.filter((word) => title.some((part) => part.startsWith(word))).length;
  return words.length ? begun / words.length + (begun ? 0.3 / title.length : 0) : 0;
}

// What a word is, as structformer/text/words.py has it, which says why.
const LONGEST = 255;
const MOST_PARTS = 8;
const MOST_NAMES = 16;
const MOST_ASKED = 200000;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const CAMEL = /[a-z][A-Z]|[0-9][A-Z][a-z]|[A-Z]{2}[a-z]{2}|^[A-Za-z]+[0-9]+$/;
const PART = /[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const BEFORE = /^[-.@$#%~/:^+&!\\]+/;
const BETWEEN_PIECES = [/[=&]/, /:?\\+/, /:?\/+/, /[:@]+/, /\.+/];
const SIGNS = /[!#$%&*+\-/:<=>?@\\^|~]+/g;
// What cannot be hyphenated prose, "and/or", a number or a file's suffix.
const NO_PROSE = /^(?:[^\p{L}\p{N}_\s.]{0,3}-{1,2}[A-Za-z]|[^\s.]*[\p{L}_][\p{L}\p{N}_-]*(?:[_=@:\\$%]|->|\.(?=[\p{L}_]{2}))|[/$%#@~][\p{L}\p{N}_])/u;
const CODE = /[a-z][A-Z]|[A-Za-z]{2}[0-9]|[A-Z][0-9]{2}/; // a word that cannot be prose either
const NUMBERED = /^([\p{L}_][^\s\d]*)(?<![:._/-])[\s:._/-]+(\d[\p{L}\p{N}_]*(?:[\s:._/-]+\d[\p{L}\p{N}_]*)*)$/u; // RFC 2119, ISO 9001:2015
const OF_RELEASES = /^(?:versions?|releases?|notes|change[sd]?|changelog)[?:]?$/i;
const RELEASE = /^v?[0-9]+(?:\.[0-9]+)+$/;
const PLAIN = /^\p{L}{3,}[?.!,]?$/u; // a word without signs and digits
const MOST_PLAIN = 8; // words of a query in which a minus is meant
const ONLY_BETWEEN = new Set(["-", "--", "/", "//", ":", "://", "@", "#", "?", "!", "=", "&", "%", "+", "$"]);
const OPERATOR = /(?<!\S)(-?)["“„«]([^"“”„«»]+)["”“»](?![\p{L}\p{N}_)\]};])|(?<!\S)-(\p{L}\S*)/gu;

/** A title or a query as titles are compared: C++ is not C. */
const comparable = (text) => text.toLowerCase().split(/\s+/u).join(" ").replace(/^[ ?!.,:;"'“”]+|[ ?!.,:;"'“”]+$/gu, "");
const unversioned = (text) => comparable(text).replace(/(?<!\S)v(?=\d)/gu, ""); // v2.3.1 is 2.3.1

/** The form in which texts are compared: NFKC, case folded, without what cannot be seen. */
function normal(text) {
  const upper = (letter) => letter.toUpperCase(); // as case folding has Cherokee, and Greek's small iotas
  const lower = text.replace(/\p{DI}/gu, "").normalize("NFKC").replace(/[\u0345\u1f80-\u1fff]/g, upper).toLowerCase();
  const folded = lower.replaceAll("ß", "ss").replaceAll("ς", "σ").replace(/[\u13f8-\u13fd\uab70-\uabbf]/g, upper);
  return folded.normalize("NFKC").replace(/[\u2010-\u2013\u2212]/g, "-");
}

const shortened = (word) => (word.length > LONGEST ? Array.from(word).slice(0, LONGEST).join("") : word);

export function asked(query, runs, folding) {
  const all = query.slice(0, MOST_ASKED);
  const phrases = [];
  const without = [];
  for (const [, minus, phrase, word] of all.matchAll(OPERATOR)) (minus || word ? without : phrases).push(word || phrase);
  const text = all.replace(OPERATOR, (_, minus, phrase, word) => (minus || word ? "" : ` ${phrase} `)).trim();
  const said = (each) => cut(each, runs, folding).spaced.length;
  if (!said(text) && !cut(text, runs, folding).names.length) return { text: all, phrases: [], without: [], quoted: false };
  const its = (listed) => [...new Set(listed.filter(said))].slice(0, MOST_PARTS);
  const quoted = phrases.length > 0 && !cut(all.replace(OPERATOR, ""), runs, folding).words.length;
  return { text, phrases: its(phrases), without: its(without), quoted };
}

/** A text's words in order, also with their other forms (spaced), and its names; of scripts without spaces pairs of characters. */
export function cut(text, runs, folding) {
  const found = { words: [], names: [] };
  const forms = [];
  for (const chunk of text.replace(/\p{DI}/gu, "").split(/\s+/u)) {
    if (!chunk) continue;
    const whole = normal(chunk);
    const spelt = replaced(whole, folding.spelt);
    const [words, others] = [whole, spelt === whole ? "" : spelt].map((each) => (each.match(WORD) || []).flatMap((word) => withPairs(word, runs)));
    const parts = (chunk.normalize("NFKC").match(WORD) || []).flatMap(camelParts).map((part) => part.toLowerCase());
    const plain = words.map((word) => withoutMarks(word, folding));
    const folded = plain.filter((form, place) => form && form !== words[place]);
    const nouns = plain.map((form) => form.replace(new RegExp(folding.article, "u"), "")).filter((noun, place) => noun !== plain[place]);
    const written = others.filter((word) => !words.includes(word)).map((word) => withoutMarks(word, folding));
    found.words.push(...words);
    forms.push(...parts, ...folded, ...nouns, ...written);
    found.names.push(...[...new Set(names(whole, runs))].slice(0, MOST_NAMES));
  }
  return { ...found, spaced: [...found.words, ...forms] };
}

// Where a page is, as structformer/retrieval/documents/page_places.py has it.
const PAGE = /\.(?:html?|md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex|xml|php|ipynb)$/;
const FOLDERS_PAGE = /(?:^|\/)(?:index|readme|_index)$/;

/** The places that a query may mean, if it is one word or ends with a page's suffix, the longest first, and the anchor in it. */
export function askedPlaces(query) {
  const typed = query.trim().replace(/^[<>()[\]`'"“”.,;!]+|[<>()[\]`'"“”.,;!]+$/gu, "").replace(/(?<=\w)(?::\d+){1,2}$/, "");
  const several = /\s/u.test(typed);
  const unquoted = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const [path, anchor] = typed.split(/#(.*)/su);
  const local = /^https?:\/\//.test(path) ? path.replace(/^https?:\/\/[^/?]*/, "") : path;
  const whole = normal(unquoted(local.split("?")[0].slice(0, 512))).replaceAll("\\", "/").replace(/^\/+|\/+$/g, "").replace(/^(?:\.{1,2}\/)+/, "");
  if ((several && !PAGE.test(typed)) || !whole || /^[\p{L}\p{N}]+$/u.test(whole)) return { places: [], anchor: "" }; // one plain word is a word
  const bare = (each) => each.replace(PAGE, "").replace(FOLDERS_PAGE, "");
  const parts = several ? [] : whole.split("/").slice(-8);
  const tails = parts.map((_, at) => parts.slice(at).join("/")).flatMap((tail) => [tail, bare(tail)]);
  const places = [whole, bare(whole), ...tails.filter((tail) => tail.includes("/") || PAGE.test(tail))];
  return { places: [...new Set(places)].filter(Boolean), anchor: unquoted(anchor || "") };
}

/** The names that words are in one ("set timeout" in setTimeout); the first without a sign. */
function joined(words) {
  if (words.length < 2 || words.length > TYPED) return [];
  const [first, ...rest] = words;
  if (rest.length >= MIXED) return JOINING.map((sign) => words.join(sign));
  return rest.reduce((begun, word) => begun.flatMap((name) => JOINING.map((sign) => name + sign + word)), [first]);
}

/** How many words a text has (structformer/document/word_counts.py). */
export function wordCount(text, runs) {
  const letters = Array.from(text);
  const spaceless = letters.filter((letter) => runs.test(letter) && !/\p{Script=Hangul}/u.test(letter));
  const wide = spaceless.filter((letter) => /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fb-\u30fc]/u.test(letter)).length;
  const gone = new Set(spaceless);
  const others = letters.map((letter) => (gone.has(letter) ? " " : letter)).join("").split(/\s+/u).filter(Boolean).length;
  return others + (gone.size ? Math.max(1, Math.round(0.75 * wide + 0.25 * (spaceless.length - wide))) : 0);
}

function withPairs(word, runs) {
  return word.split(runs).flatMap((part, place) => {
    const letters = Array.from(part);
    if (place % 2 && letters.length > 1) return letters.slice(1).map((letter, number) => letters[number] + letter);
    return part ? [shortened(part)] : [];
  });
}

const replaced = (text, by) => Array.from(text, (letter) => (Object.hasOwn(by, letter) ? by[letter] : letter)).join("");

function withoutMarks(word, { plain, left, nasals, dot }) {
  const letters = replaced(word, plain).normalize("NFD").replace(new RegExp(`[${left}]`, "gu"), "");
  return letters.normalize("NFC").replace(new RegExp(nasals, "gu"), dot);
}

function camelParts(word) {
  const parts = /^[A-Za-z0-9]{3,}$/.test(word) && CAMEL.test(word) ? word.match(PART) : [];
  return parts.length > 1 && parts.length <= MOST_PARTS ? parts.filter((part) => part.length > 1) : [];
}

const isWord = (piece) => /^[\p{L}\p{N}][\p{L}\p{N}\p{M}]*$/u.test(piece);
const nameOf = new Map();

/** What a name looks like, of letters outside of scripts without spaces. */
function nameOutside(scripts) {
  const letters = `(?:(?!${scripts})[\\p{L}\\p{N}_]\\p{M}*)+`;
  if (!nameOf.has(scripts)) nameOf.set(scripts, new RegExp(`[-.@$#%~/:^+&!\\\\]{0,3}${letters}(?:(?:->|[-.:/@+#~=\\\\&%$]{1,3})${letters})*(?:\\+\\+?|#)?`, "gu"));
  return nameOf.get(scripts);
}

/** The names in a chunk of text without blanks, whole and in pieces that are names, and its signs. */
function names(chunk, runs) {
  const found = [];
  for (const [whole] of chunk.matchAll(nameOutside(runs.source))) {
    if (isWord(whole)) continue;
    let level = [whole, whole.replace(BEFORE, "")];
    const pieces = [...level];
    if (/^v[0-9]+\..+$/s.test(level[1])) pieces.push(level[1].slice(1));
    for (const signs of BETWEEN_PIECES) pieces.push(...(level = level.flatMap((piece) => piece.split(signs))));
    found.push(...pieces.filter((piece) => piece.search(WORD) >= 0 && !isWord(piece)).map(shortened));
  }
  found.push(...(chunk.match(SIGNS) || []).filter((signs) => signs === chunk || !ONLY_BETWEEN.has(signs)));
  if (/^[\p{P}\p{S}]+$/u.test(chunk)) found.push(shortened(chunk));
  if (/[^\x00-\x7f]/.test(chunk)) found.push(...(chunk.match(/[\p{So}\p{Sm}\p{Sc}]/gu) || []));
  return found;
}

/** Where a text has the words: [begin, end) in characters, not in halves of them. */
function highlights(text, words, runs) {
  const pairs = new Set(words.filter((word) => runs.test(word)));
  const stems = words.filter((word) => word.length > 2 && !pairs.has(word)).map((word) => (word.length > 5 ? word.slice(0, -2) : word));
  const found = [];
  let place = 0;
  for (const part of text.split(/([\p{L}\p{N}\p{M}\p{DI}]+)/u).flatMap((each) => each.split(runs))) {
    const letters = Array.from(part);
    if (stems.some((stem) => normal(part).startsWith(stem))) found.push([place, place + letters.length]);
    const marked = letters.map((letter, at) => [letter, letter + letters[at + 1], letters[at - 1] + letter].some((each) => pairs.has(each)));
    marked.forEach((is, at) => {
      if (is && marked[at - 1]) found[found.length - 1][1]++;
      else if (is) found.push([place + at, place + at + 1]);
    });
    place += letters.length;
  }
  return found;
}

function near(other, word, unfinished) {
  if (unfinished) return [0, 1, -1].some((more) => near(other.slice(0, word.length + more), word));
  if (Math.abs(other.length - word.length) > 1 || other[0] !== word[0]) return false;
  let place = 0;
  while (place < word.length && other[place] === word[place]) place++;
  const rest = (text, from) => text.slice(from);
  return (
    rest(other, place + 1) === rest(word, place + 1) ||
    rest(other, place) === rest(word, place + 1) ||
    rest(other, place + 1) === rest(word, place) ||
    (other[place] === word[place + 1] && other[place + 1] === word[place] && rest(other, place + 2) === rest(word, place + 2))
  );
}

/** The words of a text as the static encoder reads them: of scripts without spaces characters, and pairs of them. */
export function wordsOf(text, runs, { marks, before, longest }) {
  const found = [];
  for (const word of normal(text).match(new RegExp(`[\\p{L}\\p{N}_${marks}]+`, "gu")) || []) {
    word.split(runs).forEach((part, place) => {
      const letters = Array.from(part);
      if (place % 2) {
        found.push(...letters.map((letter) => before + letter));
        found.push(...letters.slice(1).map((letter, number) => before + letters[number] + letter));
      } else if (part) {
        found.push(letters.slice(0, longest).join(""));
      }
    });
  }
  return found;
}

/** The place of the last of ascending values that is not greater; else 0. */
function lastUpTo(values, value) {
  let low = 0;
  let high = values.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

const bestFirst = (one, two) => two[1] - one[1] || one[0] - two[0];

function add(map, key, value) {
  map.set(key, (map.get(key) || 0) + value);
}

/** The numbers between which these are the gaps. */
function added(gaps) {
  let number = 0;
  return gaps.map((gap) => (number += gap));
}

function inAll([first = [], ...others]) {
  const sets = others.map((list) => new Set(list));
  return first.filter((each) => sets.every((set) => set.has(each)));
}

function common(one, other) {
  let place = 0;
  while (place < one.length && one[place] === other[place]) place++;
  return place;
}

/** The weighted sum of each one's parts, with mean 0 and standard deviation 1 over all of them, as the server has it. */
function standardised(parts, weights) {
  const rows = [...parts.values()];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const scales = weights.map((weight, place) => {
    const middle = mean(rows.map((row) => row[place]));
    const deviation = Math.sqrt(mean(rows.map((row) => (row[place] - middle) ** 2)));
    return [middle, deviation > 1e-9 ? weight / deviation : 0];
  });
  const total = (row) => scales.reduce((sum, [middle, scale], place) => sum + scale * (row[place] - middle), 0);
  return new Map([...parts].map(([key, row]) => [key, total(row)]));
}

function cosines(bytes, vector) {
  const rows = new Int8Array(bytes);
  const size = vector.length;
  const found = new Float32Array(rows.length / size);
  for (let row = 0; row < found.length; row++) {
    let product = 0;
    let square = 0;
    for (let place = 0, at = row * size; place < size; place++, at++) {
      product += rows[at] * vector[place];
      square += rows[at] * rows[at];
    }
    found[row] = square ? product / Math.sqrt(square) : 0;
  }
  return found;
}
