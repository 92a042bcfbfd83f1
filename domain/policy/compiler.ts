/** A rule file as its author wrote it. */
export interface RegoSource {
  readonly name: string;
  readonly body: string;
}

/** Why a policy is refused, at the place of it where there is one; lines and columns begin with 1. */
export interface PolicyFault {
  readonly message: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  /** Where in a document, as a JSON pointer. */
  readonly pointer?: string;
}

/** A name that a file reads, at the first place where it does. */
export interface FirstRead {
  readonly name: string;
  readonly line: number;
}

/** The rules that a file defines, and every name that it says in them: of rules, of variables, of parts of data. */
export interface RuleNames {
  readonly rules: readonly FirstRead[];
  /** `EVERY_RULE` among them where it reads the package as a whole. */
  readonly names: readonly string[];
}
export const EVERY_RULE = '*';

export type Checked =
  | { readonly fault: PolicyFault }
  | ({
      readonly fault: null;
      readonly formatted: string;
      /** Behind `data.gate`. */
      readonly reads: readonly FirstRead[];
      /** Behind `input`. */
      readonly inputs: readonly FirstRead[];
    } & RuleNames);
export type Compiled = { readonly fault: PolicyFault } | { readonly fault: null; readonly wasm: Uint8Array };

/**
 * Where rules that people wrote are read, in a process of its own. Rejects with `policy_compiler_unavailable` where there is no compiler;
 * then nothing is known of the rules.
 */
export interface PolicyCompiler {
  /** One file by itself: its syntax, its package, what it may define, the functions that it uses. */
  check(source: RegoSource): Promise<Checked>;
  /** What a file that was checked before reads of data. */
  reads(source: RegoSource): Promise<readonly FirstRead[]>;
  /** All files as one module. The same files and compiler give the same bytes. */
  compile(sources: readonly RegoSource[]): Promise<Compiled>;
  version(): Promise<string>;
  /** The digest of what every module holds beside its sources: the rules that policies share (policies/gate/lib), and what is asked of them. */
  shared(): Promise<string>;
}

/** A test in Rego, and what came of it. */
export interface RegoTest {
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
  /** Null for one that holds. */
  readonly fault: string | null;
  /** Its name begins with `todo_`. */
  readonly skipped: boolean;
}
/** Something in a file of tests that is no test and that nothing uses. */
export interface IdleRule {
  readonly file: string;
  /** Null for a file without any test. */
  readonly rule: FirstRead | null;
}
export type Tested =
  | { readonly fault: PolicyFault }
  | { readonly fault: null; readonly tests: readonly RegoTest[]; readonly idle: readonly IdleRule[] };

/** Where tests that people wrote of their rules are run, as a compiler reads the rules. */
export interface PolicyTester {
  /**
   * Every test of these, of rules as they are compiled together. `data` is the whole of `data.gate`, but for the rules. Tests may use every function
   * but those that reach a network, a file or the environment; no text may name schemas in its notes (`# METADATA`), which OPA would open.
   */
  test(folder: {
    readonly sources: readonly RegoSource[];
    readonly tests: readonly RegoSource[];
    readonly data: object;
  }): Promise<Tested>;
}

/** The package of rules that operators write. The rules of Gate in the same package are in another module, which these never see. */
export const ADDED_PACKAGE = 'gate.authz';

/** What the floor alone says. A file that defines one of these would promise something that it cannot do. */
export const FLOOR_RULES: ReadonlySet<string> = new Set(['allow', 'retention_class', 'approval_tier']);

/** What Gate reads of what operators add; any other rule is there for these. */
export const READ_RULES: ReadonlySet<string> = new Set(['deny', 'review', 'watches']);
