import { pino } from 'pino';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { openTemplates } from '../../adapters/policy/template-files.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { openManagement, openTrials } from '../../api/policy/management.js';
import type { PolicyCompiler } from '../../domain/policy/compiler.js';
import { EVERYBODY, type PolicyStore } from '../../domain/policy/library-ports.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { POLICY_KEYS } from './policy-keys.js';
import { rememberingCompiler } from './remembering-compiler.js';
import { takingLedger } from './taking-ledger.js';

/**
 * A process that changes `a.rego` in several stores, each change being held at another step, and is killed when all are there. Argument: the
 * stores by the steps, the text before and after the change, and whether another policy is made with it, as JSON.
 */
type ChangeStep = 'compiled' | 'storing' | 'stored' | 'loading' | 'row_sent' | 'watching';

const { places, before, after, several } = JSON.parse(process.argv[2] ?? '') as {
  readonly places: Readonly<Record<ChangeStep, StoreTarget>>;
  readonly before: string;
  readonly after: string;
  /** With another change, in one step. */
  readonly several: boolean;
};
const forever = () => new Promise<never>(() => undefined);
const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const shared = openTrials(floor);
/** Every store has the same texts. */
const opa = rememberingCompiler(opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory }));
const beside = 'package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: b" if input.tool_type == "b"\n';
const by = { reason: 'ticket 12', actor_sub: 'ada', actor_idp: 'https://idp.example' };

const arrived = new Set<ChangeStep>();
let allElse: () => void = () => undefined;
const others = new Promise<void>((resolve) => (allElse = resolve));
/** Holds the change here until the end. */
function held(step: ChangeStep): Promise<never> {
  arrived.add(step);
  if (arrived.size === Object.keys(places).length - 1) allElse();
  return forever();
}

async function changing(step: ChangeStep): Promise<void> {
  let armed = false;
  const store = await openPolicyStore(places[step], POLICY_KEYS);
  const hindered: PolicyStore = {
    ...store,
    async write(change) {
      if (!armed || step === 'watching') return store.write(change);
      if (step === 'storing') {
        await others;
        // Read when versions and modules are written, and the transaction is not committed.
        return store.write({
          ...change,
          get sets(): never {
            process.kill(process.pid, 'SIGKILL');
            throw new Error('killed');
          },
        });
      }
      const written = await store.write(change);
      return step === 'stored' ? held(step) : written;
    },
    async sets() {
      const found = await store.sets();
      return armed && step === 'loading' ? held(step) : found;
    },
  };
  const open = (over: PolicyStore, compiler: PolicyCompiler) =>
    openManagement({
      floor,
      store: over,
      templates: openTemplates(),
      compiler,
      ledger: takingLedger(() => armed && step === 'row_sent' && held(step)),
      log: pino({ level: 'silent' }),
      watchMs: 20,
      lookMs: 20,
      shared,
    });
  const compiler: PolicyCompiler = {
    ...opa,
    compile: async (sources) => {
      const compiled = await opa.compile(sources);
      return armed && step === 'compiled' ? held(step) : compiled;
    },
  };
  const gate = await open(hindered, compiler);
  await gate.library.create(EVERYBODY, { name: 'a.rego', content_type: 'rego', body: before, active: true, ...by });
  await gate.outbox.flush();
  armed = true;
  if (step === 'watching') {
    // Somebody else changes it; this process has read the module and not put it in force. What it read to verify the store before is no change.
    const module: PolicyStore['module'] = async (sources) => {
      const found = await store.module(sources);
      return (await store.versions(EVERYBODY, 'a.rego')).length > 1 ? held(step) : found;
    };
    const watcher = await open({ ...store, module }, compiler);
    watcher.begin();
  }
  const change = { body: after, expected_current_version: 1 };
  if (several)
    await gate.library.apply(EVERYBODY, {
      changes: [
        { what: 'create', name: 'b.rego', content_type: 'rego', body: beside, active: true },
        { what: 'update', name: 'a.rego', ...change },
      ],
      ...by,
    });
  else await gate.library.update(EVERYBODY, 'a.rego', { ...change, ...by });
}

await Promise.all((Object.keys(places) as ChangeStep[]).map(changing));
