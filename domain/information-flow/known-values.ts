/** What one answer brought in, and what its call was asked with, as digests under a key of this deployment. */
export interface KeptAnswer {
  readonly id: string;
  /** The key that the digests were made with. */
  readonly key: string;
  /** Each value of the answer with its place in `fields`. */
  readonly brought: ReadonlyMap<string, number>;
  readonly fields: readonly { readonly pointer: string; readonly tool: string }[];
  /** Values that the agent had of its own when it asked. */
  readonly own: ReadonlySet<string>;
  /** Values of an answer of a trusted tool. */
  readonly vouched: ReadonlySet<string>;
  readonly lostAddresses: boolean;
  readonly lostNames: boolean;
}

/** Where a value was first. */
export interface FirstBrought {
  readonly id: string;
  /** The smaller, the older. */
  readonly age: number;
  readonly field: KeptAnswer['fields'][number];
}

/** All values of an agent's answers: an argument is looked up once, however many answers there are. */
export interface KnownValues {
  /** The newest answer. */
  readonly newest: string | null;
  /** The keys that the digests are made with. */
  keys(): Iterable<string>;
  /** An answer of a trusted tool has it, or the agent had it of its own. */
  isCleared(key: string, digest: string): boolean;
  /** The first answer that brought it in. */
  first(key: string, digest: string): FirstBrought | null;
}

interface Numbered {
  readonly answer: KeptAnswer;
  readonly age: number;
}
interface Values {
  /** How many answers clear it. */
  readonly cleared: Map<string, number>;
  /** The answers that brought it, the oldest first. Most values are of one. */
  readonly brought: Map<string, Numbered | Numbered[]>;
  /** How many answers there are. */
  answers: number;
}

/** Of so many of the newest answers the order may have changed without all being read anew. */
const MOVED_AT_MOST = 16;

/** Holds the values of answers, and follows which of them count: what an answer more or less changes is that answer's values. */
export function heldValues(): KnownValues & {
  readonly size: number;
  /** From now on exactly these count, the newest first. */
  follow(answers: readonly KeptAnswer[]): void;
} {
  const byKey = new Map<string, Values>();
  /** The newest last. */
  let held: Numbered[] = [];
  let size = 0;
  let ages = 0;

  const sizeOf = ({ brought, own, vouched }: KeptAnswer): number => brought.size + own.size + vouched.size;

  function add(answer: KeptAnswer): void {
    const { key, brought, own, vouched } = answer;
    const of = byKey.get(key) ?? { cleared: new Map<string, number>(), brought: new Map(), answers: 0 };
    byKey.set(key, of);
    const numbered = { answer, age: (ages += 1) };
    held.push(numbered);
    of.answers += 1;
    size += sizeOf(answer);
    for (const cleared of [own, vouched])
      for (const digest of cleared) of.cleared.set(digest, (of.cleared.get(digest) ?? 0) + 1);
    for (const digest of brought.keys()) {
      const known = of.brought.get(digest);
      if (Array.isArray(known)) known.push(numbered);
      else of.brought.set(digest, known ? [known, numbered] : numbered);
    }
  }

  function remove(numbered: Numbered): void {
    const { key, brought, own, vouched } = numbered.answer;
    const of = byKey.get(key) as Values;
    of.answers -= 1;
    size -= sizeOf(numbered.answer);
    for (const cleared of [own, vouched])
      for (const digest of cleared) {
        const left = (of.cleared.get(digest) ?? 0) - 1;
        if (left > 0) of.cleared.set(digest, left);
        else of.cleared.delete(digest);
      }
    for (const digest of brought.keys()) {
      const known = of.brought.get(digest);
      if (Array.isArray(known)) known.splice(known.indexOf(numbered), 1);
      if (!Array.isArray(known) || known.length === 0) of.brought.delete(digest);
    }
    if (of.answers === 0) byKey.delete(key);
  }

  /** How many of the newest that are held are left out, and how many are new, so that both go on alike; `null` where they do not. */
  function meeting(answers: readonly KeptAnswer[]): { readonly left: number; readonly fresh: number } | null {
    for (let left = 0; left <= MOVED_AT_MOST && left < held.length; left += 1) {
      const one = held[held.length - 1 - left]?.answer;
      const fresh = one ? answers.slice(0, left + MOVED_AT_MOST + 1).indexOf(one) : -1;
      if (fresh < 0) continue;
      let at = fresh;
      while (at < answers.length && held[held.length - 1 - left - (at - fresh)]?.answer === answers[at]) at += 1;
      if (at === answers.length) return { left, fresh };
    }
    return null;
  }

  return {
    get newest() {
      return held.at(-1)?.answer.id ?? null;
    },
    get size() {
      return size;
    },
    keys: () => byKey.keys(),
    isCleared: (key, digest) => byKey.get(key)?.cleared.has(digest) ?? false,
    first(key, digest) {
      const known = byKey.get(key)?.brought.get(digest);
      for (const { answer, age } of known === undefined ? [] : Array.isArray(known) ? known : [known]) {
        const field = answer.fields[answer.brought.get(digest) ?? -1];
        if (field) return { id: answer.id, age, field };
      }
      return null;
    },
    follow(answers) {
      const met = meeting(answers);
      if (met) {
        for (const one of held.splice(held.length - met.left)) remove(one);
        const old = held.length - (answers.length - met.fresh);
        for (const one of held.splice(0, old)) remove(one);
      } else {
        byKey.clear();
        held = [];
        size = 0;
      }
      const fresh = met ? answers.slice(0, met.fresh) : answers;
      for (const answer of fresh.toReversed()) add(answer);
    },
  };
}
