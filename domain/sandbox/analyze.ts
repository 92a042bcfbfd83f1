import { BATCH_METHOD } from '../../contracts/call-methods.js';
import { SANDBOX_BOUNDS, SANDBOX_REPORT_CONTRACT, type SandboxReport } from '../../contracts/sandbox.js';
import type { JsonObject } from '../../contracts/json.js';
import { unlimited, type Checkpoint } from '../in-place.js';
import { toolTokens } from '../tool-shape.js';
import { sizeOf } from '../large.js';
import { siblingsOf } from '../mcp/batch.js';
import { argumentsOfRead } from '../mcp/read-methods.js';
import { actTold, type ReadAct, readActs } from '../policy/read-acts.js';
import { oneLine, quoted, shortenedSaid } from '../printable.js';
import { clipped, shortened } from '../text.js';
import { readAddresses } from './addresses.js';
import { readArguments } from '../argument-values.js';
import { readFiles } from './files.js';
import { type Finding, graver, isGraver, type ReadCall, type Readers, type Reversible } from './finding.js';
import { type Money, type Payment, readMoney, together } from './money.js';
import { readRemovals } from './removals.js';
import { readScripts } from './scripts.js';
import { commandsIn, readShellActs } from './shell.js';
import { readSqlActs, takesSql } from './sql.js';
import { byName, verbOf } from './verbs.js';

/** Changes with every change of what is reported for some call. */
export const ANALYZER_VERSION = 'gate-sandbox/22';

/** Characters and values of the parameters beyond which a call is not analysed. */
export const LARGEST_ANALYZED = 65_536;

/**
 * Predicts what a call would do from its text alone (docs/architecture/sandbox.md): without clock, network or state, so the same call gives
 * the same bytes. Takes linear time, and throws only what `checkpoint` throws, which is called between the pieces.
 */
export type Analyzer = (method: string, params: unknown, checkpoint?: Checkpoint) => SandboxReport;

export const createAnalyzer =
  (readers: Readers): Analyzer =>
  (method, params, checkpoint = unlimited) => {
    if (sizeOf(params, LARGEST_ANALYZED) > LARGEST_ANALYZED) return notAnalyzed();
    const calls = callsOf(method, params);
    if (typeof calls === 'string') return reportOf([MALFORMED(calls)], null);
    const findings: Finding[] = [];
    const payments: Payment[] = [];
    for (const call of calls) {
      checkpoint();
      const read = analyzeOne(call, 1 / calls.length, readers, checkpoint);
      findings.push(...read.findings);
      if (read.payment) payments.push(read.payment);
    }
    if (payments.length === 0) return reportOf(findings, null);
    // The payments of a batch are told in one line, or the first would hide the others.
    const { money, finding } = together(payments);
    const paid = new Set(payments.map((payment) => payment.finding));
    return reportOf([finding, ...findings.filter((one) => !paid.has(one))], money, finding);
  };

interface NamedCall {
  readonly tool: string;
  readonly arguments: unknown;
}

const TOOL_METHODS: ReadonlySet<string> = new Set(['tools/call', 'call_tool']);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The tool calls of a request, or what is wrong with it. */
function callsOf(method: string, params: unknown): readonly NamedCall[] | string {
  if (!isObject(params)) return 'its parameters are no object';
  if (method === BATCH_METHOD)
    try {
      return siblingsOf(method, BATCH_METHOD, { params: params as JsonObject }).map((one) => ({
        tool: one.tool,
        arguments: one.arguments,
      }));
    } catch {
      return 'its batch cannot be read';
    }
  const read = argumentsOfRead(method, params);
  if (read) return [{ tool: method, arguments: read }];
  const { name } = params;
  if (name !== undefined && (typeof name !== 'string' || name.trim() === '')) return 'its tool has no name';
  if (name === undefined && TOOL_METHODS.has(method)) return 'its tool has no name';
  const given = params['arguments'];
  if (given !== undefined && !isObject(given)) return 'its arguments are no object';
  if (typeof name === 'string') return [{ tool: name, arguments: given ?? {} }];
  return [{ tool: method, arguments: given ?? params }];
}

function analyzeOne(
  { tool, arguments: given }: NamedCall,
  share: number,
  readers: Readers,
  checkpoint: Checkpoint,
): { readonly findings: readonly Finding[]; readonly payment: Payment | null } {
  const named = toolTokens(tool);
  const read = readArguments(given, checkpoint);
  const { lines, verbs } = commandsIn({ tool, groups: read.groups }, named, readers.data);
  const call: ReadCall = {
    ...read,
    tool,
    arguments: given,
    share,
    words: [...named, ...verbs.flatMap((verb) => toolTokens(verb))],
  };
  const verb = verbOf(call.words, readers.data);
  const sql = readSqlActs(call, readers, checkpoint);
  const shell = readShellActs(call, sql.length > 0 ? [] : lines, readers, checkpoint);
  const addresses = readAddresses(call, verb);
  // What is fetched from an address to a path is written there.
  const files = readFiles(call, addresses.length > 0 && verb === 'read' ? 'write' : verb, checkpoint);
  const payment = readMoney(call, verb, readers, checkpoint);
  const findings = [
    ...(payment ? [payment.finding] : []),
    ...shell,
    ...sql,
    ...addresses,
    ...files,
    ...readRemovals(call, verb, readers),
  ];
  const own = byName(call, verb);
  // A name that says more than the arguments counts too; one that only says "run", "send" or nothing is explained by them.
  const worst = findings.reduce<Finding['severity']>((grave, one) => graver(grave, one.severity), 'safe');
  const explained =
    verb === 'unknown' || verb === 'run' || verb === 'pay' || verb === 'send' || takesSql(tool, readers);
  if (findings.length === 0 || (!explained && verb !== 'read' && isGraver(own.severity, worst))) findings.push(own);
  // A read whose arguments ask for more than that.
  if (findings.every(({ severity }) => severity === 'safe'))
    findings.push(...readActs(given, tool).map((act) => asksFor(act, findings[0] as Finding)));
  const alike = readScripts(call, gravestOf(findings), readers);
  return { findings: [...findings, ...alike], payment };
}

const asksFor = (act: ReadAct, { act: told, targets }: Finding): Finding => {
  const removes = act === 'graph_removal';
  return {
    operation_class: act === 'request' ? 'network' : removes ? 'delete' : 'write',
    severity: removes ? 'destructive' : 'risky',
    act: `${actTold(act)}: ${told}`,
    kind: removes ? 'delete' : 'modify',
    targets,
    reversible: removes ? 'no' : 'unknown',
    reasons: [`its arguments ask for ${actTold(act)}`],
  };
};

const MALFORMED = (why: string): Finding => ({
  operation_class: 'unknown',
  severity: 'risky',
  act: `a call that cannot be read: ${why}`,
  kind: null,
  targets: [],
  reversible: 'unknown',
  reasons: [`the call cannot be read: ${why}`],
});

/** Counts as the worst, or an agent could hide what it does behind its size. */
const notAnalyzed = (): SandboxReport => ({
  ...reportOf(
    [
      {
        operation_class: 'unknown',
        severity: 'destructive',
        act: 'not analysed: the call is too large',
        kind: null,
        targets: [],
        reversible: 'unknown',
        reasons: [`the call was not analysed: it holds more than ${LARGEST_ANALYZED} characters and values`],
      },
    ],
    null,
  ),
  analyzed: false,
});

const gravestOf = (findings: readonly Finding[]): Finding =>
  findings.reduce((grave, one) => (isGraver(one.severity, grave.severity) ? one : grave));

const UNDOING: readonly Reversible[] = ['yes', 'unknown', 'no'];

/** All findings as one report. The gravest leads; of equals the first that is not aside. Money that moves is told in any case. */
function reportOf(findings: readonly Finding[], money: Money | null, payment: Finding | null = null): SandboxReport {
  const order = ['destructive', 'risky', 'safe'];
  const sorted = findings.toSorted(
    (one, other) =>
      order.indexOf(one.severity) - order.indexOf(other.severity) || (one.aside ?? 0) - (other.aside ?? 0),
  );
  const lead = sorted[0] as Finding;
  const told = payment === null || payment === lead ? [] : [summaryOf(payment).replace('move ', 'moves ')];
  const targets = [...new Set(sorted.flatMap((one) => one.targets))];
  const changes = new Map<string, SandboxReport['predicted_changes'][number]>();
  for (const { kind, targets: of } of sorted)
    if (kind !== null)
      for (const target of of) {
        if (changes.size >= SANDBOX_BOUNDS.entries) break;
        changes.set(`${kind} ${target}`, { kind, target: shown(target) });
      }
  return {
    contract: SANDBOX_REPORT_CONTRACT,
    analyzer_version: ANALYZER_VERSION,
    analyzed: true,
    operation_class: lead.operation_class,
    severity: lead.severity,
    reversible: sorted.reduce<Reversible>(
      (worst, { reversible }) => (UNDOING.indexOf(reversible) > UNDOING.indexOf(worst) ? reversible : worst),
      'yes',
    ),
    summary: summaryOf(lead),
    reasons: few([...told, ...sorted.flatMap(({ reasons }) => reasons)], said),
    targets: few(targets),
    predicted_changes: [...changes.values()],
    scope: {
      targets: targets.length,
      wildcards: sorted.some(({ wildcards }) => wildcards === true),
      recursive: sorted.some(({ recursive }) => recursive === true),
    },
    money,
  };
}

const shown = (text: string): string => shortened(oneLine(clipped(text, SANDBOX_BOUNDS.text)), SANDBOX_BOUNDS.text);
const said = (text: string): string => shortenedSaid(oneLine(text), SANDBOX_BOUNDS.text);
const few = (texts: readonly string[], of = shown): string[] =>
  [...new Set(texts.map(of))].slice(0, SANDBOX_BOUNDS.entries);

const TARGET = 120;
/** The act is in Gate's words, and what it has of the call is quoted in it. */
function summaryOf({ act, targets: [first, ...others], namesTargets }: Finding): string {
  const bare = act.replace(/:$/, '');
  if (first === undefined || (namesTargets === true && act.includes(quoted(first).slice(1, -1))))
    return shortenedSaid(bare, SANDBOX_BOUNDS.summary);
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const target = quoted(first, TARGET);
  const room = SANDBOX_BOUNDS.summary - target.length - more.length - 1;
  return `${shortenedSaid(act, room)} ${target}${more}`;
}
