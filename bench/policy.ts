import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { createLivePolicies } from '../adapters/policy/live-policies.js';
import { createLocalEvaluator } from '../adapters/policy/local-evaluator.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { openManagement } from '../api/policy/management.js';
import type { PolicyInput } from '../contracts/policy.js';
import { instanceOf } from '../domain/policy/compiled.js';
import type { RegoSource } from '../domain/policy/compiler.js';
import { EVERYBODY } from '../domain/policy/library-ports.js';
import { ADDED_ENTRYPOINT } from '../domain/policy/policy-files.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import { startChildProcess } from './child.js';
import { describeMachine, type Machine } from './machine.js';
import { quantile, rounded, sum } from './numbers.js';
import type { PolicyEngineQuestions } from './policy-engine-process.js';
import type { PolicyLoadQuestions } from './policy-load-process.js';
import {
  benchCompiler,
  callsIn,
  NO_LEDGER,
  NOTHING_STORED,
  ORDINARY_CASES,
  policiesOf,
  policyStoreOf,
  SHIPPED_CASES,
  templateCases,
} from './policy-parts.js';

declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

export interface PolicyBenchOptions {
  readonly rounds: number;
  readonly policies: number;
  readonly changes: number;
  /** Another built copy of Gate, whose changes are measured in the same run. */
  readonly other: string | undefined;
  readonly say: (line: string) => void;
}

interface EvaluationRow {
  readonly calls: string;
  readonly rules: string;
  readonly distinct: number;
  readonly per_second: number;
  readonly p50_us: number;
  readonly p99_us: number;
  readonly p50_over_trivial: number;
  readonly p99_over_trivial: number;
}

interface ChangeRow {
  readonly changes: string;
  readonly count: number;
  readonly requests: number;
  readonly failed: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
  /** The longest time in which nothing else ran in the engine. */
  readonly longest_block_ms: number;
  /** The same by the processor's time alone. */
  readonly longest_work_ms: number;
}

/** What the rules cost a call, and what a call feels of a change of the rules. */
export async function runPolicyBench(options: PolicyBenchOptions): Promise<{
  readonly machine: Machine;
  readonly evaluations: readonly EvaluationRow[];
  readonly changes: readonly ChangeRow[];
}> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-policy-'));
  try {
    const machine = describeMachine(folder);
    const floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
    const evaluations = await evaluated(floor, options);
    const changes = await changed(floor, join(folder, 'policies.db'), options);
    const { other } = options;
    if (other === undefined) return { machine, evaluations, changes };
    const others = await changed(floor, join(folder, 'other.db'), options, other);
    return {
      machine,
      evaluations,
      changes: [...changes, ...others.map((row) => ({ ...row, changes: `another copy: ${row.changes}` }))],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Side {
  readonly name: string;
  judge(call: PolicyInput): unknown;
}
async function evaluated(floor: PolicySet, { rounds, policies, say }: PolicyBenchOptions): Promise<EvaluationRow[]> {
  const trivial = await compiledRules([
    {
      name: 'trivial.rego',
      body: 'package gate.authz\n\nimport rego.v1\n\ndeny contains "no" if input.tool_type == "nothing"\n',
    },
  ]);
  const alone = instanceOf(await WebAssembly.compile(trivial), {}, floor.material.maxMemoryPages);
  say(`compiling ${policies} policies`);
  const files = await policiesOf(policies);
  const many = await compiledRules(files.map(({ facts: { name }, body }) => ({ name, body })));
  const added = await createLivePolicies({ floor, store: NOTHING_STORED }).tried(many, {}, []);
  const served = createLocalEvaluator(floor, undefined, {}, () => added);
  const sides: readonly Side[] = [
    { name: 'opa-wasm, one trivial rule', judge: (call) => alone.evaluate(call, ADDED_ENTRYPOINT) },
    { name: 'the rules that ship', judge: (call) => floor.judge(call) },
    { name: `the rules that ship and ${policies} policies`, judge: (call) => floor.judge(call, undefined, added) },
    { name: `the same, in a thread, as they are served`, judge: (call) => served.evaluate(call) },
  ];
  const kinds = {
    'ordinary work': callsIn(ORDINARY_CASES),
    'cases of the rules that ship': callsIn(SHIPPED_CASES),
    'cases of the templates': callsIn(templateCases()),
    [NEVER_SEEN]: callsIn(ORDINARY_CASES),
  };
  // An engine that just began runs its code uncompiled for some hundred calls, whatever the rules.
  const all = Object.values(kinds).flat();
  for (let time = 0; time < WARMED; time += 1)
    for (const side of sides)
      await judgedOnce(
        side,
        all,
        all.map(() => Number.POSITIVE_INFINITY),
      );
  say(`every side judged ${WARMED * all.length} calls before`);
  const rows: EvaluationRow[] = [];
  for (const [kind, calls] of Object.entries(kinds)) {
    const least = new Map(sides.map(({ name }) => [name, calls.map(() => Number.POSITIVE_INFINITY)]));
    for (let round = 0; round < rounds; round += 1)
      for (const side of round % 2 === 0 ? sides : sides.toReversed())
        await judgedOnce(side, kind === NEVER_SEEN ? calls.map(renamed) : calls, least.get(side.name) as number[]);
    say(`${kind}: ${calls.length} calls, ${rounds} rounds`);
    const base = least.get(sides[0]?.name ?? '') ?? [];
    for (const { name } of sides) {
      const us = least.get(name) ?? [];
      rows.push({
        calls: kind,
        rules: name,
        distinct: us.length,
        per_second: rounded((1e6 * us.length) / sum(us)),
        p50_us: rounded(quantile(us, 0.5)),
        p99_us: rounded(quantile(us, 0.99)),
        p50_over_trivial: rounded(quantile(us, 0.5) / quantile(base, 0.5)),
        p99_over_trivial: rounded(quantile(us, 0.99) / quantile(base, 0.99)),
      });
    }
  }
  await served.close();
  return rows;
}

/** How often each side judges every call before it is timed. */
const WARMED = 2;
const NEVER_SEEN = 'ordinary work, by tools never seen before';
let names = 0;
/** What the engine keeps by name is not kept of this one. */
function renamed(text: string): string {
  names += 1;
  const call = JSON.parse(text) as PolicyInput;
  return JSON.stringify({ ...call, tool_type: `${call.tool_type}_v${names}` });
}

/** Each call once; of its times the least is kept, since other work on the machine only adds. */
async function judgedOnce({ judge }: Side, calls: readonly string[], least: number[]): Promise<void> {
  for (const [at, text] of calls.entries()) {
    // Read anew, as of the wire: what is known of an object is known of none of these.
    const call = JSON.parse(text) as PolicyInput;
    const begun = performance.now();
    const judged = judge(call);
    if (judged instanceof Promise) await judged;
    least[at] = Math.min(least[at] ?? Number.POSITIVE_INFINITY, (performance.now() - begun) * 1_000);
  }
}

async function compiledRules(sources: readonly RegoSource[]): Promise<Uint8Array> {
  const compiled = await benchCompiler().compile(sources);
  if (compiled.fault) throw new Error(compiled.fault.message);
  return compiled.wasm;
}

/** An engine under load, and changes of its rules by somebody else's process and by its own. */
async function changed(
  floor: PolicySet,
  file: string,
  { policies, changes, say }: PolicyBenchOptions,
  directory?: string,
): Promise<ChangeRow[]> {
  const store = await policyStoreOf(file);
  const other = await openManagement({
    floor,
    store,
    templates: openTemplates(),
    compiler: benchCompiler(),
    ledger: NO_LEDGER,
    log: pino({ level: 'silent' }),
  });
  const engine = startChildProcess<PolicyEngineQuestions>('policy-engine-process.js', {
    ...(directory !== undefined && { directory }),
  });
  const load = startChildProcess<PolicyLoadQuestions>('policy-load-process.js');
  try {
    const files = await policiesOf(policies);
    await other.library.seed(files, true);
    const url = await engine.ask.start({ file });
    const switched = files[0]?.facts.name ?? '';
    let version = 1;
    const asked = () => ({ expected_current_version: version, ...BY });
    const byAnother = async (active: boolean): Promise<void> => {
      await (active ? other.library.activate : other.library.deactivate)(EVERYBODY, switched, asked());
      version += 1;
    };
    const byItself = async (active: boolean): Promise<void> => {
      const reply = await fetch(`${url}/policies/${switched}/${active ? 'activate' : 'deactivate'}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked()),
      });
      if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`);
      version += 1;
    };
    // Both sets are compiled; from now on a change is what it is at any time after.
    await byAnother(false);
    await byAnother(true);
    const calls = [...callsIn(ORDINARY_CASES), ...callsIn(templateCases())];
    const under = async (
      what: string,
      count: number,
      change: (active: boolean) => Promise<void>,
    ): Promise<ChangeRow> => {
      await engine.ask.watchBlocks();
      await load.ask.begin({ url, calls });
      for (let at = 0; at < count; at += 1) {
        await pause(BETWEEN_MS);
        await change(at % 2 === 1);
      }
      await pause(BETWEEN_MS);
      const { latencies, answers } = await load.ask.end();
      const blocks = await engine.ask.blocks();
      const failed = latencies.length - (answers['200'] ?? 0);
      say(`${what}: ${JSON.stringify(answers)}`);
      return {
        changes: what,
        count,
        requests: latencies.length,
        failed,
        p50_ms: rounded(quantile(latencies, 0.5)),
        p99_ms: rounded(quantile(latencies, 0.99)),
        max_ms: rounded(Math.max(...latencies)),
        longest_block_ms: rounded(blocks?.longestBlockMs ?? 0),
        longest_work_ms: rounded(blocks?.longestWorkMs ?? 0),
      };
    };
    await under('warm', changes, async () => undefined);
    return [
      await under('none', changes, async () => undefined),
      await under('by another process', changes, byAnother),
      await under('by the engine itself', changes, byItself),
      await under('none, again', changes, async () => undefined),
    ];
  } finally {
    await Promise.all([load.stop(), engine.stop()]);
    await other.close();
    await store.close();
  }
}
const BY = { reason: 'measured', actor_sub: 'bench', actor_idp: 'system' };
/** More than the watch over the store. */
const BETWEEN_MS = 1_200;
