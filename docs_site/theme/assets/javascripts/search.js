/* The worker of the search: the theme's own, asked in another way. docs/why/project.md says why, and what it brings.
 *
 * The theme finds every word that begins as a typed one does, and everyday words count like others. Here everyday words of a
 * question are left out, the others are compared by their stems, a word counts less in a long section, a section counts by how
 * many of the words it has, and more with them in its title, a name is found in small letters, and only the word that is being
 * typed is completed. The theme loads this file instead of its worker (main.html). */
"use strict";

/* Words that say nothing about what is looked for. They are left out of a question, if others remain. */
const EVERYDAY = new Set(
  `a about after again all also am an and any anything are as at be because been before being both but by can cannot
  could did do does doing down each else ever every everything few for from further get gets getting give go goes going
  got had has have having he her here hers him his how i if in into is it its itself just let like make makes many
  may me might mine more most much must my need needs no nor not nothing now of off on once one only onto or other our
  out over own per please put same shall she should so some something such take than that the their them then there
  these they thing things this those through to too under until up us use used uses using very via want wants was way we
  were what when where whether which while who whom whose why will with within without would yes yet you your
  aren can't don don't doesn doesn't i'm isn isn't it's what's won won't wouldn't`.split(/\s+/)
);
const EXACT = 10; // how much a whole word counts, of a completed one's 1
const LINES = 3; // of a block of code that a result shows

const OPERATOR = /^[+-]|[*~^]|^(title|text|tags):/; // the search's own signs: such a word stays as it was typed (and gets its * by the theme)
const PHRASE = /("[^"]*\s[^"]*")/; // a quoted word alone, as in a message of an error, is a word

const SETUP = 0;
const QUERY = 2;
const RESULT = 3;

let separator = /\s+/;
let typed = new Map(); // each stem that the search is asked for, with the word that was typed
let title = ""; // what was typed, as a title would have it
let completed = ""; // the word that is being typed, of which the beginning is asked for as well
const words = new Set(); // those of the docs, as they are written

/** The stem of a word: “changes” and “changing” have one. */
function stemOf(word) {
  return stem(new lunr.Token(withoutGenitive(word), {})).toString();
}

function withoutGenitive(word) {
  return word.replace(/['’]s?$/, "");
}

/** What the theme's worker is asked instead of the words that were typed. */
function asked(question) {
  typed = new Map();
  title = question.trim().toLowerCase();
  completed = "";
  const parts = question.split(PHRASE);
  return parts.map((part, place) => (place % 2 ? part : reworded(part, place === parts.length - 1))).join(" ");
}

/** The words of a question that count, each by its stem; the last one may go on, if it is `open`. */
function reworded(part, open) {
  const given = part.split(/\s+/).filter(Boolean);
  const telling = joinedVerbs(given).filter(word => !isEveryday(word));
  const kept = telling.length ? telling : given;
  const begun = open && !/\s$/.test(part) ? kept.at(-1) : undefined;
  return kept.map(word => (OPERATOR.test(word) ? word.replace(/\*$/, "") : terms(word, word === begun))).join(" ");
}

/** The words, with those as one that the docs write as one: “back up” as “backup”, “time out” as “timeout”. */
function joinedVerbs(given) {
  const all = [...given];
  for (let place = 0; place + 1 < all.length; place++) {
    const both = trimmed(all[place]) + trimmed(all[place + 1]);
    if (!isEveryday(all[place]) && isEveryday(all[place + 1]) && words.has(both.toLowerCase())) all.splice(place, 2, both);
  }
  return all;
}

function isEveryday(word) {
  return EVERYDAY.has(trimmed(word).toLowerCase().replaceAll("’", "'"));
}

function trimmed(word) {
  return word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
}

/** One word, which may be of several (memory.recall), as terms that the theme completes with nothing. */
function terms(word, begun) {
  const name = trimmed(word).toLowerCase(); // such as MongoDB, of which the docs have Mongo, DB and mongodb
  const pieces = isName(name, begun) ? [name] : word.split(separator).map(trimmed).filter(Boolean);
  return pieces
    .map((piece, place) => {
      const lower = piece.toLowerCase();
      const stem = stemOf(lower);
      typed.set(stem, lower);
      const exact = `${stem}^${EXACT}`;
      if (!begun || place < pieces.length - 1 || lower.length < 2) return exact;
      completed = lower;
      return `${exact} ${lower}*^1`;
    })
    .join(" ");
}

/** Whether the docs have a word as a whole, or one that begins so, where it is still being typed. */
function isName(name, begun) {
  return words.has(name) || (begun && [...words].some(word => word.startsWith(name)));
}

/** What was found, as it is shown. */
function shown({ items, suggest }) {
  items = titledFirst(items);
  for (const item of items.flat()) {
    item.terms = named(item.terms);
    item.text = item.text.replace(/<pre>([\s\S]*?)<\/pre>/g, shortened);
  }
  return { items, ...(suggest && { suggest: suggest.filter(word => words.has(word)) }) };
}

/** The pages in their order, but first one that has just what was typed as a title: the name of a class, such as SchemaOutdated. */
function titledFirst(items) {
  const titled = page => page.some(section => section.title.replace(/<[^>]*>/g, "").trim().toLowerCase() === title);
  const place = items.findIndex(titled);
  return place > 0 ? [items[place], ...items.slice(0, place), ...items.slice(place + 1)] : items;
}

/** The terms that were found or missed: the found ones as a page marks them, the missed as they were typed. */
function named(found) {
  const answer = {};
  for (const [term, there] of Object.entries(found)) {
    const word = typed.get(term) ?? term; // a word of a phrase, or with a sign of the search, is asked for as it is
    if (term === completed && !typed.has(term)) continue; // its stem is there
    answer[there ? beginning(word, term) : word] = there;
  }
  return answer;
}

function beginning(word, stem) {
  let length = 0;
  while (length < word.length && word[length] === stem[length]) length++;
  return word.slice(0, length) || word;
}

/** The lines of a block of code that have a word of the question: a result is no page. */
function shortened(block, code) {
  const lines = code.replace(/<\/?code[^>]*>/g, "").split("\n");
  const marked = lines.filter(line => line.includes("<mark>"));
  const kept = (marked.length ? marked : lines).slice(0, LINES);
  return `<pre><code>${kept.join("\n")}${kept.length < lines.length ? "\n…" : ""}</code></pre>`;
}

/** Change how lunr makes its index, and how it ranks. The theme's worker has brought lunr, and makes the index later. */
function tune() {
  lunr.Builder.prototype.b = () => {}; // the theme turns off that a word counts more in a short section than in a long one
  lunr.Pipeline.registerFunction(wordAndStem, "wordAndStem");
  lunr.stemmer = wordAndStem;
  const add = lunr.Builder.prototype.add;
  lunr.Builder.prototype.add = function (...section) {
    if (!this.split) {
      this.split = this.tokenizer; // the theme's
      this.tokenizer = text => withWholeNames(this.split(text));
    }
    return add.apply(this, section);
  };
  const build = lunr.Builder.prototype.build;
  lunr.Builder.prototype.build = function () {
    this.searchPipeline.reset(); // a question comes with its stems
    return build.call(this);
  };
  const search = lunr.Index.prototype.search;
  lunr.Index.prototype.search = function (question) {
    return weighted(this, search.call(this, question).map(once));
  };
}

/** The words of a text, and beside the parts of a name (Mongo, DB) the name as it is typed (mongodb). */
function withWholeNames(tokens) {
  const all = [...tokens];
  let name = []; // parts with nothing between them
  let end; // where the last one ends: its block of the text, and the place in it
  for (const token of tokens) {
    const { block, from, to } = placeOf(token);
    if (!end || end.block !== block || end.to !== from) {
      if (name.length > 1) all.push(joined(name));
      name = [];
    }
    name.push(token);
    end = { block, to };
  }
  if (name.length > 1) all.push(joined(name));
  return all;
}

/** Where a token stands, as the theme's table has it in the bits of a number. */
function placeOf(token) {
  const { position } = token.metadata;
  const block = position >>> 20;
  const entry = lunr.tokenizer.table[block][position & 0xfffff];
  const from = entry >>> 12;
  return { block, from, to: from + ((entry >>> 2) & 1023) };
}

function joined(parts) {
  return new lunr.Token(parts.join(""), { position: parts.map(part => part.metadata.position) });
}

/** What the index has of a word of the docs: its stem, and the word itself, by which it is completed while it is typed. */
function wordAndStem(token) {
  const word = token.toString();
  words.add(word);
  const stemmed = stem(token.clone(withoutGenitive));
  return stemmed.toString() === word ? token : [token, stemmed];
}

/** Hits by the share of the question's words that they have, squared, and up to three times with them in the title. Rare words count more. */
function weighted(index, hits) {
  const rare = new Map([...typed.keys()].map(word => [word, rarity(index, word)]));
  const whole = sum(rare.values());
  if (!whole) return hits;
  return hits.map(hit => {
    const found = [...rare.keys()].filter(word => word in hit.matchData.metadata);
    const titled = found.filter(word => "title" in hit.matchData.metadata[word]);
    const share = kept => sum(kept.map(word => rare.get(word))) / whole;
    return { ...hit, score: hit.score * (0.2 + share(found) ** 2) * (1 + 2 * share(titled)) };
  });
}

/** How few sections have a word: its weight in BM25, or nothing if it is nowhere. */
function rarity(index, word) {
  const fields = index.invertedIndex[word];
  if (!fields) return 0;
  const having = new Set(index.fields.flatMap(field => Object.keys(fields[field]))).size;
  const sections = Object.keys(index.fieldVectors).length / index.fields.length;
  return Math.log(1 + (sections - having + 0.5) / (having + 0.5));
}

function sum(numbers) {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

/** A hit with each place once: a word and its stem stand at one place, which is marked once. */
function once(hit) {
  const seen = new Set();
  for (const fields of Object.values(hit.matchData.metadata))
    for (const [field, { position }] of Object.entries(fields))
      fields[field].position = position.flat().filter(place => {
        const there = `${field} ${place}`;
        return !seen.has(there) && seen.add(there);
      });
  return hit;
}

const listen = self.addEventListener;
self.addEventListener = function (type, hear) {
  listen.call(self, type, event => {
    const message = event.data;
    if (message.type === SETUP) separator = new RegExp(message.data.config.separator, "g");
    hear(message.type === QUERY ? { data: { ...message, data: asked(message.data) } } : event);
  });
};
const answer = self.postMessage.bind(self);
self.postMessage = function (message) {
  answer(message.type === RESULT ? { ...message, data: shown(message.data) } : message);
};
importScripts(new URL(new URL(self.location).searchParams.get("theme"), self.location));
const porter = lunr.stemmer;

/** A word's stem, by Porter, and without what he leaves of “expiry” and “slowly”: “expire” and “slow” have the same. */
function stem(token) {
  return porter(token).update(word => (word.length > 5 ? word.replace(/li$/, "") : word).replace(/(?<=....)i$/, ""));
}

tune();
