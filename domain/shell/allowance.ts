import { type Checkpoint, unlimited } from '../in-place.js';
import { budgetFor } from '../large.js';
import { Paths } from './paths.js';

/**
 * What may be inserted into a text, for the variables that it sets and the arguments that it is given together: `$a` and `$1`, two
 * characters, can stand for thousands each time, and again in what they are inserted into.
 */
const MOST_INSERTED = 8_192;
/** A text within a text is read again, at most as often as texts may be nested, and by a few roads: so many times the text's length. */
const TIMES_AGAIN = 8;
const TIMES_AGAIN_JOINED = 2;
/** Characters that a request may have read again besides. */
const MOST_AGAIN = 65_536;

/** A character of a path is compared with every name that is known. */
const TIMES_A_PATH = 8;

/** Characters of each of its own that a request may have read in all, however they are put together and decoded; past them it waits. */
const TIMES_ITS_SIZE = 64;
const LEAST_READ = 1 << 18;

/**
 * What reading the texts of one request may cost, shared by every depth of every text: texts within texts multiply what they insert. The
 * cost is counted in characters, so that it is the same on every machine.
 */
export class Allowance {
  #inserted = 0;
  #multiplied = 0;
  #again = MOST_AGAIN;
  #isSpent = false;
  #read = 0;
  readonly #most: number;
  /** What the paths of the request name. */
  readonly paths = new Paths((length) => this.mayExpand(length));

  /** `checkpoint` is called between the pieces of the reading, which ends with what it throws. */
  constructor(
    argumentsOfCall?: unknown,
    readonly checkpoint: Checkpoint = unlimited,
  ) {
    this.#most = budgetFor(argumentsOfCall, TIMES_ITS_SIZE, LEAST_READ);
  }

  /** Characters read and inserted so far. */
  get read(): number {
    return this.#read;
  }

  /** Something of the text that was begun last was not read. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** `isJoined`: the text was put together of others, which have their own share. */
  begin(text: string, isJoined = false): boolean {
    this.#inserted = 0;
    this.#multiplied = 0;
    this.#isSpent = false;
    this.#again += (isJoined ? TIMES_AGAIN_JOINED : TIMES_AGAIN) * text.length;
    return this.#reads(text.length);
  }

  /** Whether so many more characters may be inserted. */
  mayInsert(length: number): boolean {
    this.#inserted += length;
    if (this.#inserted > MOST_INSERTED) this.#isSpent = true;
    return !this.#isSpent && this.#reads(length);
  }

  /** Whether so many more characters of words that braces make may be read. Those that may not leave the rest of the text as it is. */
  mayMultiply(length: number): boolean {
    this.#multiplied += length;
    return this.#multiplied <= MOST_INSERTED && this.#reads(length);
  }

  /** Whether so many more characters, which stand within a text that was read, may be read. */
  mayReadAgain(length: number): boolean {
    this.#again -= length;
    if (this.#again < 0) this.#isSpent = true;
    return !this.#isSpent && this.#reads(length);
  }

  /** Whether so many more characters of what paths stand for, their braces, patterns and spellings, may be read. */
  mayExpand(length: number): boolean {
    return this.#reads(TIMES_A_PATH * length);
  }

  /** Whether a command's words may be read once more, as they are from another folder. */
  mayView(seen: readonly string[]): boolean {
    return this.#reads(seen.reduce((sum, { length }) => sum + length + 1, 0));
  }

  #reads(length: number): boolean {
    this.checkpoint();
    if (this.#read + length > this.#most) this.#isSpent = true;
    else this.#read += length;
    return !this.#isSpent;
  }
}
