import type { PatternExplained } from '../../../contracts/narration.js';
import type { DecidedCall, DecisionSource } from '../../../contracts/decided-calls.js';
import type { JsonObject } from '../../../contracts/json.js';
import { type MinedFacts, type MinedSuggestion, SUGGESTIONS_LOOK_MS } from '../../../contracts/policy-mining.js';
import type { MutatedPolicy, PolicyReason } from '../../../contracts/policy-library.js';
import { sha256Hex, uuidFromDigest } from '../../crypto/digest.js';
import { GateError } from '../../errors.js';
import { within } from '../../within.js';
import type { PolicyLibrary } from '../library.js';
import type { KeptSuggestion, PolicyStore } from '../library-ports.js';
import { isForPeople, isOneCall } from './evidence.js';
import { shellWord } from './fence.js';
import { layoutOf } from './layout.js';
import { liesIn } from './tightest.js';

export interface SuggestionsOptions {
  readonly store: PolicyStore;
  readonly library: Pick<PolicyLibrary, 'create'>;
  readonly decisions: DecisionSource;
  readonly clock: () => number;
  /** A model's words about what was found; null where nobody writes any. Never rejects. */
  readonly explain?: ((found: KeptSuggestion) => Promise<PatternExplained | null>) | undefined;
}

const PAGE = 500;

const notInTime = () => new GateError('ledger_store_unavailable', 'what people decided could not be read in time');

const idOf = (tenant: string, name: string, digest: string): string =>
  uuidFromDigest('gate.mined', tenant, name, digest);
/** Whether the id is of the name and the text: it is in all that an earlier Gate found. */
export const isOfItsText = ({
  id,
  tenant,
  rule_name: name,
  body,
  body_sha256: digest,
}: Pick<KeptSuggestion, 'id' | 'tenant' | 'rule_name' | 'body' | 'body_sha256'>): boolean =>
  digest === sha256Hex(body) && id === idOf(tenant, name, digest);

/** A suggestion that was just found. Nothing of it depends on when. */
export function suggestionOf(
  {
    tenant,
    tool,
    name,
    body,
  }: { readonly tenant: string; readonly tool: string; readonly name: string; readonly body: string },
  facts: MinedFacts,
  seq: number,
  at: string,
): KeptSuggestion {
  const body_sha256 = sha256Hex(body);
  const id = idOf(tenant, name, body_sha256);
  return {
    id,
    tenant,
    tool,
    rule_name: name,
    body,
    body_sha256,
    facts,
    withdrawn_why: null,
    checked_seq: seq,
    created_at: at,
  };
}

/**
 * Why a decision speaks against a suggestion; null where it does not. What nobody can compare any more speaks against it, and so does any call of the tool
 * whose definition had changed, or whose class leaves it to people.
 */
export function speaksAgainst(
  { tool, facts }: Pick<KeptSuggestion, 'tool' | 'facts'>,
  call: DecidedCall,
): string | null {
  if (call.tool !== tool || !isOneCall(call)) return null;
  const where = `${call.correlation_id ?? `row ${call.seq}`}, ${call.at}`;
  // It was found in approvals of the tool as it was.
  if (call.input !== null && isForPeople(call.input, tool))
    return `the tool changed since, or its class is for people to look at: ${where}`;
  if (call.decided === 'approved') return null;
  const what = call.decided === 'denied' ? 'was denied' : 'was approved with other arguments only';
  if (call.input === null) return `a call of the tool ${what}, and its arguments were purged: ${where}`;
  const layout = layoutOf((call.input['arguments'] ?? {}) as JsonObject);
  return layout !== null && facts.parts.some((part) => liesIn(part, layout))
    ? `a call like these ${what}: ${where}`
    : null;
}

/**
 * Suggestions that were mined, as they stand now. Each is compared with what people decided since, whenever somebody looks at it or installs it: one
 * call of its kind that was denied withdraws it for good. Where the ledger cannot say that, it is `unchecked` and cannot be installed.
 */
export function createSuggestions({
  store,
  library,
  decisions,
  clock,
  explain = () => Promise.resolve(null),
}: SuggestionsOptions) {
  /** Throws where the ledger cannot be asked, or does not verify. */
  async function check(
    tenant: string,
    open: readonly KeptSuggestion[],
    whole: boolean,
    untilMs: number,
  ): Promise<void> {
    if (open.length === 0) return;
    const { valid } = await decisions.verify({ sinceCheckpoint: !whole });
    if (!valid)
      throw new GateError(
        'chain_verification_incomplete',
        'what people decided cannot be trusted: the ledger does not verify',
      );
    const against = new Map<string, string>();
    let after = Math.min(...open.map(({ checked_seq: seq }) => seq));
    for (;;) {
      const { rows, next } = await decisions.decidedPage({ tenant, after, limit: PAGE });
      for (const row of rows)
        for (const one of open) {
          const why = row.seq > one.checked_seq && !against.has(one.id) ? speaksAgainst(one, row) : null;
          if (why !== null) against.set(one.id, why);
        }
      if (next === null) break;
      after = next;
      if (clock() > untilMs) throw notInTime();
    }
    for (const [id, why] of against) await store.withdrawSuggestion(tenant, id, why);
    await store.checkedSuggestions(
      tenant,
      open.flatMap(({ id }) => (against.has(id) ? [] : [id])),
      after,
    );
  }

  const shownOf = (kept: KeptSuggestion, installed: boolean, checked: string | null): MinedSuggestion => {
    const { tool, facts, rule_name, body, body_sha256, id, tenant, withdrawn_why: withdrawn } = kept;
    const { approvals, denials, agents } = facts.evidence;
    const state =
      withdrawn !== null ? 'withdrawn' : checked !== null ? 'unchecked' : installed ? 'installed' : 'proposed';
    return {
      ...facts,
      id,
      tenant,
      tool,
      rule_name,
      state,
      state_why: withdrawn ?? checked,
      in_force: installed,
      one_liner: `${tool} of ${agents} agents: would have passed ${approvals.passed} of ${approvals.of} approvals and ${denials.passed} of ${denials.of} denials`,
      next_step:
        withdrawn !== null && installed
          ? `npx gate tools set ${shellWord(tool)} review --reason "${rule_name} is switched off"`
          : `npx gate tools set ${shellWord(tool)} change --reason "only calls that ${rule_name} lets pass"`,
      rego_body: body,
      body_sha256,
      proposed_at: kept.created_at,
    };
  };

  async function inForce(tenant: string): Promise<(kept: KeptSuggestion) => boolean> {
    const { policies } = await store.catalogue();
    const active = policies.filter((policy) => policy.tenant === tenant && policy.active && policy.deleted_at === null);
    return ({ rule_name: name, body_sha256: digest }) =>
      active.some((policy) => policy.name === name && policy.body_sha256 === digest);
  }

  async function list(tenant: string): Promise<readonly MinedSuggestion[]> {
    const before = await store.suggestions(tenant);
    const isOpen = ({ withdrawn_why: why }: KeptSuggestion): boolean => why === null;
    let fault: string | null = null;
    try {
      // Where a single question to the ledger takes longer, nobody waits for its end.
      const compared = check(tenant, before.filter(isOpen), false, clock() + SUGGESTIONS_LOOK_MS);
      await within(SUGGESTIONS_LOOK_MS, compared, notInTime);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      fault = error.message;
    }
    const installed = await inForce(tenant);
    return (await store.suggestions(tenant)).map((kept) => shownOf(kept, installed(kept), isOpen(kept) ? fault : null));
  }

  return {
    list,
    /**
     * Keeps what was found, and tells it as it stands: what was withdrawn before stays so, and so does what was decided since. Others of its tools that
     * nobody installed go.
     */
    async keep(tenant: string, found: readonly KeptSuggestion[]): Promise<readonly MinedSuggestion[]> {
      const installed = await inForce(tenant);
      const tools = new Set(found.map(({ tool }) => tool));
      const before = await store.suggestions(tenant);
      const overtaken = before.filter(
        (kept) =>
          tools.has(kept.tool) &&
          kept.withdrawn_why === null &&
          !installed(kept) &&
          found.every(({ id }) => id !== kept.id),
      );
      // What was found before keeps its words, and a model is paid once; what was withdrawn stays as it is.
      const known = new Map(before.map((kept) => [kept.id, kept]));
      const explained = await Promise.all(
        found.map(async (one) => {
          const kept = known.get(one.id);
          const words = kept
            ? (kept.facts.explained ?? (kept.withdrawn_why === null ? await explain(one) : null))
            : await explain(one);
          return words ? { ...one, facts: { ...one.facts, explained: words } } : one;
        }),
      );
      await store.keepSuggestions(
        tenant,
        explained,
        overtaken.map(({ id }) => id),
      );
      const ids = new Set(found.map(({ id }) => id));
      const open = (await store.suggestions(tenant)).filter((one) => ids.has(one.id) && one.withdrawn_why === null);
      await check(tenant, open, false, Number.POSITIVE_INFINITY);
      const kept = new Map((await store.suggestions(tenant)).map((one) => [one.id, one]));
      return found.map((one) => {
        const now = kept.get(one.id) ?? one;
        return shownOf(now, installed(now), null);
      });
    },
    /**
     * Puts the rule of a suggestion in force, which only ever has more calls wait. Throws `suggestion_withdrawn` where somebody denied such a call, and
     * what the ledger throws where it cannot say that.
     */
    async install(tenant: string, id: string, by: PolicyReason): Promise<MutatedPolicy> {
      const found = async (): Promise<KeptSuggestion> => {
        const kept = (await store.suggestions(tenant)).find((one) => one.id === id);
        if (!kept) throw new GateError('not_found', `there is no suggestion ${id}`);
        if (kept.withdrawn_why !== null) throw new GateError('suggestion_withdrawn', kept.withdrawn_why);
        return kept;
      };
      await check(tenant, [await found()], true, Number.POSITIVE_INFINITY);
      const { rule_name: name, body } = await found();
      return library.create(tenant, { name, content_type: 'rego', body, active: true, ...by });
    },
  };
}

export type Suggestions = ReturnType<typeof createSuggestions>;

/** A name that a shell reads as one word. */
