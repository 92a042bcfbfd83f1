import type { OperationClass, SandboxReport, SandboxSeverity } from '../../contracts/sandbox.js';
import type { ShellReader } from '../shell/read-shell.js';
import type { SqlReader } from '../sql/read-sql.js';
import type { SqlParser } from '../sql/tree.js';
import type { NameReader } from '../money/money-names.js';
import type { MoneyReader } from '../money/read-money.js';
import type { PolicyData } from '../policy/policy-data.js';
import type { ReadArguments } from '../argument-values.js';

export type ChangeKind = SandboxReport['predicted_changes'][number]['kind'];
export type Reversible = SandboxReport['reversible'];

/** What one part of a call would do. */
export interface Finding {
  readonly operation_class: OperationClass;
  readonly severity: SandboxSeverity;
  /** In a few words of Gate's, in front of what it is done to: "delete file". What is not Gate's is quoted in it (`quoted`). */
  readonly act: string;
  /** What the act quotes may have the targets in it already. */
  readonly namesTargets?: true;
  readonly kind: ChangeKind | null;
  readonly targets: readonly string[];
  readonly reversible: Reversible;
  /** In Gate's words, as the act is. */
  readonly reasons: readonly string[];
  readonly wildcards?: boolean;
  readonly recursive?: boolean;
  /** It says little of what the call does, so of equally grave findings those with less of this lead. */
  readonly aside?: 1 | 2;
}

/** A tool call as every part of the analysis sees it. */
export interface ReadCall extends ReadArguments {
  readonly tool: string;
  /** The words of the tool's name and of the action in its arguments, whatever their spelling. */
  readonly words: readonly string[];
  readonly arguments: unknown;
  /** Its part of what the texts of the request may cost to read. */
  readonly share: number;
}

/** What the analysis reads texts with, and the lists that the policies have too. */
export interface Readers {
  readonly readSql: SqlReader;
  readonly parseSql: SqlParser;
  readonly readShell: ShellReader;
  readonly readName: NameReader;
  readonly moneyIn: MoneyReader;
  readonly data: Pick<PolicyData['gate'], 'destructive' | 'sql' | 'money'>;
}

const SEVERITIES: readonly SandboxSeverity[] = ['safe', 'risky', 'destructive'];
export const graver = (one: SandboxSeverity, other: SandboxSeverity): SandboxSeverity =>
  SEVERITIES.indexOf(other) > SEVERITIES.indexOf(one) ? other : one;
export const isGraver = (one: SandboxSeverity, other: SandboxSeverity): boolean =>
  SEVERITIES.indexOf(one) > SEVERITIES.indexOf(other);

/** Text that a tool writes to a file or sends to a reader, or looks for: it is not run there. */
export function isCarried({ words }: Pick<ReadCall, 'words'>, path: readonly string[], { data }: Readers): boolean {
  const held = new Set(words);
  return data.sql.carriers.some(
    (carrier) =>
      path.some((name) => carrier.arguments.includes(name.toLowerCase())) &&
      carrier.verbs.some((verb) => held.has(verb)) &&
      carrier.objects.some((object) => held.has(object)),
  );
}
