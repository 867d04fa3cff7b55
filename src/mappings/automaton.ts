/**
 * Finds all words that occur in a text, in one pass over the text (Aho and Corasick, "Efficient string matching", CACM 18(6),
 * 1975). Words and texts are sequences of UTF-16 units.
 */

export interface Automaton {
  /** Calls `found` once for each word that occurs in `text`, with the word's number. */
  search(text: string, found: (word: number) => void): void;
}

const unitsPerSlice = 512;

/** Numbers distinct words, none of them empty, by their places. Yields between slices of the work, so that a tap can run. */
export function* buildAutomaton(words: readonly string[]): Generator<undefined, Automaton, undefined> {
  // The maximum is allocated at once, because growing a table of half a million nodes takes 70 ms.
  const nodesMax = words.reduce((sum, { length }) => sum + length, 1);
  const edges = createEdges(nodesMax);
  // For each node: its longest proper suffix, the word that ends here, and the next shorter suffix where a word ends.
  const suffixOf = new Int32Array(nodesMax);
  const wordOf = new Int32Array(nodesMax).fill(-1);
  const nextEnd = new Int32Array(nodesMax);
  let nodes = 1;
  let work = 0;

  const advance = (from: number, unit: number): number => {
    for (let node = from; ; node = suffixOf[node] ?? 0) {
      const next = edges.get(node, unit);
      if (next !== 0 || node === 0) return next;
    }
  };
  // Level by level, because the suffix of a new node is shorter and must exist already.
  const at = new Int32Array(words.length);
  let open = words.map((_, word) => word);
  for (let depth = 0; open.length > 0; depth++) {
    for (const word of open) {
      if (++work % unitsPerSlice === 0) yield;
      const unit = words[word]?.charCodeAt(depth) ?? 0;
      const parent = at[word] ?? 0;
      let node = edges.get(parent, unit);
      if (node === 0) {
        node = nodes++;
        const suffix = parent === 0 ? 0 : advance(suffixOf[parent] ?? 0, unit);
        edges.set(parent, unit, node);
        suffixOf[node] = suffix;
        nextEnd[node] = (wordOf[suffix] ?? -1) >= 0 ? suffix : (nextEnd[suffix] ?? 0);
      }
      at[word] = node;
      if (words[word]?.length === depth + 1) wordOf[node] = word;
    }
    open = open.filter((word) => (words[word]?.length ?? 0) > depth + 1);
  }

  // The last search that found each word. Each word is reported once, so the work is bounded by text and words.
  const seenIn = new Float64Array(words.length);
  let searches = 0;
  return {
    search(text, found) {
      searches++;
      let node = 0;
      for (let place = 0; place < text.length; place++) {
        node = advance(node, text.charCodeAt(place));
        let end = (wordOf[node] ?? -1) >= 0 ? node : (nextEnd[node] ?? 0);
        while (end !== 0) {
          const word = wordOf[end] ?? 0;
          // After a reported word, all of its shorter suffixes are reported too.
          if (seenIn[word] === searches) break;
          seenIn[word] = searches;
          found(word);
          end = nextEnd[end] ?? 0;
        }
      }
    },
  };
}

/** A hash table in flat arrays, at most half full: 10 bytes for each place, where a Map of Maps takes hundreds. */
function createEdges(nodesMax: number) {
  const bits = Math.max(4, Math.ceil(Math.log2(2 * nodesMax)));
  const parents = new Int32Array(2 ** bits);
  const units = new Uint16Array(2 ** bits);
  // 0 marks a free place, because the root is no child.
  const children = new Int32Array(2 ** bits);
  const mask = children.length - 1;
  const placeOf = (node: number, unit: number): number => {
    let place = Math.imul(node ^ Math.imul(unit, 0x85ebca6b), 0x9e3779b1) >>> (32 - bits);
    while (children[place] !== 0 && !(parents[place] === node && units[place] === unit))
      place = (place + 1) & mask;
    return place;
  };
  return {
    /** The child of `node` by `unit`, or 0. */
    get: (node: number, unit: number) => children[placeOf(node, unit)] ?? 0,
    set(node: number, unit: number, child: number): void {
      const place = placeOf(node, unit);
      parents[place] = node;
      units[place] = unit;
      children[place] = child;
    },
  };
}
