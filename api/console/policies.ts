import type { z } from 'zod';
import { linesIn } from '../../activities/clients/event-stream.js';
import { type PolicyService, type SeenVersion, SERVICE_WORDS, type ServiceHealth } from '../../console/services.js';
import { policyFile, policyList, policyStanding } from '../../contracts/policy.js';
import {
  mutatedPolicy,
  policyDiff,
  type PolicyReason,
  policyVersion,
  policyVersions,
  templateFile,
  templateList,
  validatedPolicy,
} from '../../contracts/policy-library.js';
import { minedSuggestions, mineLine } from '../../contracts/policy-mining.js';
import { labLine } from '../../contracts/policy-studies.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { AskLimits } from './ask-limits.js';
import { get, type Neighbour, unlessQuiet, unlessUnknown } from './neighbour.js';

interface Asking {
  /** Who changes something, and why. */
  readonly by: (reason: string) => PolicyReason;
  readonly health: () => Promise<ServiceHealth>;
  /** How long somebody waits for suggestions, for a change, and for the next word of a lab; milliseconds. */
  readonly limits: Pick<AskLimits, 'suggestionsMs' | 'changeMs' | 'quietMs'>;
}

const pathOf = (name: string, what = ''): string => `/policies/${encodeURIComponent(name)}${what}`;
const POLICY_MAY_BE_CHANGED = 'It may have made the change: look at the versions before you send it again.';
/** What else stands beside the files' names: an edition without these has no page of its own for them. */
const NO_FILES: ReadonlySet<string> = new Set(['standing', 'suggestions', 'templates']);
const templateAt = (name: string, what = ''): string => `/policies/templates/${encodeURIComponent(name)}${what}`;

const expected = ({ version, digest }: SeenVersion) => ({
  expected_current_version: version,
  ...(digest !== null && { expected_body_sha256: digest }),
});

/** The policy engine as one person may ask it: about the policies of his tenant, and changed in his name. */
export function policiesOver(engine: Neighbour, { by, health, limits }: Asking): PolicyService {
  const { ask } = engine;
  const change = (method: 'POST' | 'PUT' | 'DELETE', path: string, body: object) =>
    ask(mutatedPolicy, { method, path, body, doubt: POLICY_MAY_BE_CHANGED }, limits.changeMs);
  const toldBy = <Line>(path: string, type: z.ZodType<Line>, asked: object, until: AbortSignal): AsyncGenerator<Line> =>
    studied({ engine, path, type, asked, until }, limits);
  const list: PolicyService['list'] = () => ask(policyList, get('/policies'));
  const file: PolicyService['file'] = (name) =>
    NO_FILES.has(name) ? Promise.resolve(null) : unlessUnknown(ask(policyFile, get(pathOf(name))));
  return {
    list,
    standing: () => ask(policyStanding, get('/policies/standing')),
    file,
    async kept(name) {
      try {
        return await file(name);
      } catch (error) {
        if (!(error instanceof GateError && error.code === 'policy_tampered')) throw error;
        const { policies, not_in_force, takes_no_change } = await list();
        const row = policies.find((policy) => policy.name === name && policy.tampered !== undefined);
        if (!row) throw error;
        return { ...row, current_body: null, current_body_sha256: row.body_sha256, not_in_force, takes_no_change };
      }
    },
    async hadCopy(name) {
      const { policies } = await ask(policyList, get('/policies', { include_deleted: 'true' }));
      return policies.some((policy) => policy.name === name && policy.tenant !== null && policy.deleted_at !== null);
    },
    versions: async (name) =>
      (await unlessUnknown(ask(policyVersions, get(pathOf(name, '/versions')))))?.versions ?? null,
    version: (name, version) => unlessUnknown(ask(policyVersion, get(pathOf(name, `/versions/${version}`)))),
    diff: async (name, from, to) =>
      (await unlessUnknown(ask(policyDiff, get(pathOf(name, '/diff'), { from, to }))))?.diff ?? null,
    validate: (policy) =>
      ask(
        validatedPolicy,
        { method: 'POST', path: '/policies/validate', body: policy, isOfAll: true },
        limits.changeMs,
      ),
    create: (policy, reason) => change('POST', '/policies', { ...policy, ...by(reason) }),
    update: (name, body, on, reason) => change('PUT', pathOf(name), { body, ...expected(on), ...by(reason) }),
    setState: (name, state, on, reason) =>
      change('POST', pathOf(name, `/${state}`), { ...expected(on), ...by(reason) }),
    async behind(name) {
      const shared = await unlessUnknown(ask(policyFile, { ...get(pathOf(name)), isOfAll: true }));
      return shared !== null && shared.active && !shared.protected && shared.deleted_at === null ? shared : null;
    },
    remove: (name, on, back, reason) =>
      change('DELETE', pathOf(name), { ...expected(on), expected_back_sha256: back, ...by(reason) }),
    rollback: (name, version, on, reason) =>
      change('POST', pathOf(name, `/rollback/${version}`), { ...expected(on), ...by(reason) }),
    templates: () => ask(templateList, get('/policies/templates')),
    template: (name) => unlessUnknown(ask(templateFile, get(templateAt(name)))),
    install: (name, parameters, on, reason) =>
      change('POST', templateAt(name, '/install'), {
        ...(parameters && { parameters }),
        ...(on !== undefined && { expected_document_version: on?.version ?? null }),
        ...(on?.digest && { expected_document_sha256: on.digest }),
        ...by(reason),
      }),
    lab: (asked, until) => toldBy('/policies/lab', labLine, asked, until),
    suggestions: async () =>
      (await ask(minedSuggestions, get('/policies/suggestions'), limits.suggestionsMs)).suggestions,
    mine: (asked, until) => toldBy('/policies/mine', mineLine, asked, until),
    accept: (id, reason) => change('POST', `/policies/suggestions/${encodeURIComponent(id)}/install`, by(reason)),
    health,
  };
}

interface Study<Line> {
  readonly engine: Neighbour;
  readonly path: string;
  readonly type: z.ZodType<Line>;
  readonly asked: object;
  readonly until: AbortSignal;
}

/** What one line may have, bytes: more than any finding of a study. */
const LINE_BYTES = 16 * 1_048_576;

/** The lines of what takes long, as they come. Ends it where its reader leaves, at `until`, and where nothing comes. */
async function* studied<Line>(
  { engine, path, type, asked, until }: Study<Line>,
  { changeMs, quietMs }: Asking['limits'],
): AsyncGenerator<Line> {
  const ended = new AbortController();
  try {
    // It is silent while it compiles.
    const how = { signal: AbortSignal.any([until, ended.signal]), answerMs: changeMs };
    const answer = await engine.stream({ method: 'POST', path, body: asked }, how);
    if (answer.status !== 200) throw await engine.refusal(answer);
    for await (const { line } of linesIn(unlessQuiet(answer.body, quietMs), LINE_BYTES))
      yield type.parse(JSON.parse(line));
  } catch (error) {
    throw error instanceof GateError
      ? error
      : new GateError('console_neighbour_away', `${SERVICE_WORDS.policy} does not answer: ${errorText(error)}`, {
          cause: error,
        }).of('policy');
  } finally {
    ended.abort();
  }
}
