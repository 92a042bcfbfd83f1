import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pino from 'pino';
import { Registry } from 'prom-client';
import { READ_ELSEWHERE } from '../config/elsewhere.js';
import type { SettingGroups } from '../config/env.js';
import { LITE_SETTINGS } from '../config/lite.js';
import { PREPARE_SETTINGS } from '../config/prepare.js';
import { settingLines } from '../config/setting-lines.js';
import { APART_SETTINGS, START_SETTINGS } from '../stack/process-settings.js';
import { commandOf, SERVICES } from '../stack/services.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import type { Json } from '../contracts/json.js';
import { ERROR_CODES, type ErrorCode } from '../contracts/error-codes.js';
import { EVENT_KINDS, type EventKind } from '../contracts/event-kinds.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../contracts/route-authority.js';
import { liteMetrics } from '../lite/metrics.js';
import { alarmsTold } from '../workers/alarms.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { printedCompose } from './compose-file.js';
import { workloadMetrics } from '../api/plugins/workload-metrics.js';
import { connectionMetrics } from '../api/plugins/connection-metrics.js';
import { EXPLAINED } from './find-hollow.js';

/** Every page of docs/reference, by file name, printed from the definitions that the program uses. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'settings.md': settingsPage(),
    'errors.md': errorsPage(),
    'events.md': eventsPage(),
    'routes.md': routesPage(),
    'metrics.md': await metricsPage(),
    'not-yet.md': notYetPage(),
    'templates.md': await templatesPage(),
  };
}

const head = (title: string, source: string, text: string): string =>
  `# ${title}\n\n<!-- Printed by \`npm run reference\` from ${source}; a test compares. -->\n\n${text}\n`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function settingsPage(): string {
  const section = (title: string, groups: SettingGroups, note = ''): string =>
    `## ${title}\n\n${note}${table(
      ['Variable', 'Default', 'Meaning'],
      settingLines(groups).map((line) => [
        `\`${line.variable}\``,
        /^(required|none|empty)$/.test(line.default) ? line.default : `\`${line.default}\``,
        line.secret ? `${line.meaning} **Secret.**` : line.meaning,
      ]),
    )}`;
  return head(
    'Settings',
    'config/',
    [
      'Every process reads its settings from the environment, once, at its start, and names every fault at once. `gate config [process]`',
      'prints the same tables; `gate config <process> --check` reads the environment as that process would.',
      '',
      'A **secret** is never printed and refused where it looks like a placeholder. Each may come from a file instead: `<VARIABLE>_FILE`',
      'names it.',
      '',
      [
        section(
          'gate start',
          START_SETTINGS,
          'Secrets and keys that are required here it makes itself, once, under the state folder.\n\n',
        ),
        ...SERVICES.map((service) => section(`gate ${commandOf(service)}`, APART_SETTINGS[service.name])),
        section(
          'gate lite',
          { lite: LITE_SETTINGS },
          'Each variable has a flag, which beats it: `GATE_LITE_RATE_LIMIT_QPS` is `--rate-limit-qps`. Shorter ones: `--upstream`, `--policies`,\n`--velocity-window`.\n\n',
        ),
        section('gate prepare database', { database: PREPARE_SETTINGS.database }),
        section('gate prepare engine', { engine: PREPARE_SETTINGS.engine }),
        `## Read elsewhere\n\nBy commands, scripts and containers. None is a secret, but the token of the sample client.\n\n${table(
          ['Variable', 'Read by', 'Default', 'Meaning'],
          READ_ELSEWHERE.map(({ variable, readBy, fallback, meaning }) => [
            `\`${variable}\``,
            readBy,
            fallback,
            meaning,
          ]),
        )}`,
      ].join('\n\n'),
    ].join('\n'),
  );
}

const RETRY: Readonly<Record<ErrorCode['retry'], string>> = {
  yes: 'yes',
  no: 'no',
  after_wait: 'yes, after a wait',
};

function errorsPage(): string {
  return head(
    'Errors',
    'contracts/error-codes.ts',
    [
      'Every refusal is JSON with a stable `error`, a sentence for people (`reason`; `reasoning` from the proxy and on routes of lite) and the',
      '`correlation_id` of the call. The last column says whether the very same request may be sent again without a second effect ([retrying](../architecture/requests-and-answers.md#retrying)).',
      '',
      table(
        ['Code', 'Status', 'What to do', 'Send again?'],
        Object.entries<ErrorCode>(ERROR_CODES).map(([code, { status, meaning, retry }]) => [
          `\`${code}\``,
          String(status),
          meaning,
          RETRY[retry],
        ]),
      ),
    ].join('\n'),
  );
}

/** The meaning of each kind. `null`: part of the contract, but no code writes it yet. */
const EVENT_MEANINGS: Readonly<Record<EventKind, string | null>> = {
  'proxy.verdict': 'The verdict of a call with its tier, layer and reasons. Its sidecar is the request.',
  'proxy.control':
    'Control calls of one agent, by method, that reached the upstream within a minute: how many, how many failed, the first and the last.',
  'brain.inspection':
    'What the inspection found, with its scores, or that it could not be had. Its sidecar is the evidence.',
  'policy.evaluated':
    'What the policy set decided, under which bundle, and the event that the rules want kept. Its sidecar is the policy input.',
  'hil.created': 'The call waits for a decision until the deadline it names.',
  'hil.approved':
    'The call was approved: by people, or by a rule where its tier is `auto` (`decided_by` is `system:policy-tier`); who, how and when.',
  'hil.denied':
    'The call was denied: by a person, or in the name of Gate where its agent took it back, its tenant left or its demonstration was cleaned up (`decided_by` begins with `system:`); who, how and when.',
  'hil.expired': 'Nobody decided before the deadline; nothing was executed.',
  'hil.modified':
    'An operator changed the call; the diff, the digests, and the verdict about the changed call. `hil.denied` follows where that verdict is a denial, needs a higher tier than the call had, or is predicted (`predicted_effect`) to do what one person may not approve: the call is denied for good. Its sidecar is the changed request.',
  'hil.vote': 'One approval of a call that several people must approve; it still waits.',
  'hil.escalated':
    'Nobody had decided about the call at a share of its time (`GATE_HIL_SLA_ESCALATE_FRACTION`); it still waits.',
  'hil.assigned': null,
  'upstream.outcome':
    'What execution came to; `stage` is `completed`, `failed`, `uncertain` or `not_run`. Each call of a batch has a row more: `step`, with its `outcome`. A look of a probe at an uncertain call is `probed`; `reconciled` says who ended the uncertainty. What its client answered the tool meanwhile is there by digests (`answers`, by `round`).',
  'execution.completed':
    'The host of a decision says, signed with the key of its certificate, that it executed the call; the digests of request, result and receipt, and both signatures.',
  'response.inspected':
    'What was found in an answer of a tool, a resource or a prompt and done with it: `released` is `as_is`, `marked`, `sanitized` or `withheld`, `would` what observe mode let pass. Classes, rules and digests, never what was found.',
  'call.aborted': 'Reconciliation closed a call that could not end by itself; nothing was executed.',
  'call.abandoned': 'The call could not begin before its caller had given up; nothing was executed.',
  'alarm.forged_decision': 'A decision reached the workflow that HIL had not signed. The row stayed pending.',
  'callback.delivered':
    "The caller's callback address took the message about how a review ended. Where the ledger was away just then there is no such row.",
  'alarm.row_conflict': 'Somebody sent other content under the id of an entry that exists. The entry stayed as it was.',
  'alarm.record_tampered':
    'The stored record of a call was not what Gate wrote; `reasoning` says what did not hold. The call is closed: nothing runs under its id any more.',
  'alarm.review_tampered':
    'The stored review of a call was not what Gate wrote. Nobody can decide it; the call ends at its deadline, or at once where it did not wait yet, and nothing runs.',
  'alarm.tool_classes_outdated':
    'The stored classes of an upstream are older than the ledger says: somebody put them back, and every tool of it waits.',
  'alarm.clock_apart':
    "A worker's clock and that of its database are more than a minute apart; reconciliation ends nothing while they are.",
  'alarm.reconciled': 'Reconciliation had to close a call; `reasoning` says why.',
  'alarm.row_refused':
    'The ledger refused a row of a call for good. This one stands for it: its kind, its id, why, and the digest of what was refused.',
  'alarm.call_stuck':
    'Reconciliation cannot do what a call still owes, for a reason that lies in this call alone. Told once; it is tried again with growing pauses.',
  'tool_definition.drifted':
    "An agent's tools are not what they were when they were pinned, their definitions instruct a model, or their names mislead; `signal` says which.",
  'tool_class.set':
    'An operator said what a tool of an upstream does: the class, the one before, the definition it was said of.',
  'tool_class.forgotten': "An operator took back his word on a tool, or on all of an upstream's.",
  'tool_class.withdrawn':
    'A change of a class was begun and not finished, as by a crash; it is not in force. `withdrawn` is the id that its row has or would have had.',
  'tool_definition.accepted': "An operator let an agent's pinned tools go; its next list is pinned.",
  'policy.created': 'An operator made a policy; who, and the digest of its text. Its sidecar has the reason.',
  'policy.updated':
    'A policy has another text, new or of an earlier version; both digests. Its sidecar has the reason.',
  'policy.activated': 'A policy came into force. Its sidecar has the reason.',
  'policy.deactivated': 'A policy is no longer in force. Its sidecar has the reason.',
  'policy.deleted': 'A policy was deleted; its versions stay. Its sidecar has the reason.',
  'policy.installed_from_template':
    'A template was put in force as a policy: its first version, or the one that was switched off. Its sidecar has the reason.',
  'identity.svid_issued':
    'An agent got its first certificate, or the first after a recovery; its serial and fingerprint, and who let it in.',
  'identity.svid_renewed':
    'An agent got its next certificate with the one that it had; of both the id, of the new one serial and fingerprint.',
  'svid.revoked': 'A certificate of an agent was taken back; by whom. Its sidecar has the reason.',
  'agent.svid_recovery_opened': 'An agent may get a first certificate again; by whom. Its sidecar has the reason.',
  'agent.registered': 'An agent came into the registry by its name, so that it can be stopped; by whom.',
  'agent.suspended':
    'An agent was stopped: no new call of it, and none that waited, runs from now on; by whom. Its sidecar has the reason.',
  'agent.unsuspend_requested':
    'Somebody asked for the end of a suspension, which somebody else confirms. Its sidecar has the reason.',
  'agent.unsuspended':
    'A suspension ended: who asked for it, and who confirmed it. Its sidecar has the reason of the second.',
  'agent.decommissioned':
    'An agent was ended for good, and its certificates were taken back; by whom. Its sidecar has the reason.',
  'agent.containment_set':
    'Every call of an agent that policy would let run waits for a person, until the time that it says. Its sidecar has the reason.',
  'agent.owner_team_transferred': 'Another team has the agent; by whom, and which one had it before.',
  'agent.description_changed': 'Another description of an agent; by whom.',
  'agent.certified':
    'An administrator certified that an agent passed its cases; by whom, with the signature. Its sidecar has the certificate.',
  'agent.containment_cleared':
    'The calls of an agent are judged by the rules alone again; by whom, and what was lifted. Its sidecar has the reason.',
  'svid.workload_refreshed':
    'A service got its next certificate: from which it had before, or from its bootstrap certificate (`caller_kind`), and until when it counts.',
  'workload.svid_recovery_opened':
    'A service may use its bootstrap certificate once more; by whom. Its sidecar has the reason.',
  'stop.set':
    'A tool was stopped for everybody of a tenant, or (`tool` is null) the tenant whole: no new call, and none that waited, runs from now on; by whom. Its sidecar has the reason.',
  'stop.release_requested':
    'Somebody asked for the end of such a stop, which somebody else confirms. Its sidecar has the reason.',
  'tenant.budget_changed':
    'What a tenant, or an agent of it (`agent`), may spend in a month was set (`budget_micros`; null: the limit was taken off), and what it was before; by whom. Its sidecar has the reason.',
  'decoy.registered':
    'A decoy was set: what it is called (`name`), of which kind, whether agents see it, and what happens to who touches it (`action`); by whom. A value is in no row. Its sidecar has the reason.',
  'attestation.measurement_approved':
    'Somebody said what the platform of an agent may measure (`measurement_sha256`), under which version, issuer and anchor, with the signature of it; by whom. Its sidecar has the reason.',
  'attestation.measurement_retired': 'Such an approval was withdrawn; by whom. Its sidecar has the reason.',
  'attestation.enrollment_challenge_opened':
    'A person let an agent ask for its first certificate by a quote of its TPM: for which request, SPIFFE ID and anchor; by whom.',
  'agent.attestation_kinds_changed':
    'With what an agent may attest was said anew (`attestation_kinds_before`, `attestation_kinds_after`; none is any kind); by whom. Its sidecar has the reason.',
  'decoy.retired': 'A decoy was taken away; by whom.',
  'upstream.registered':
    'Somebody vouched for a server of tools; who, and what its connection has to show. Its sidecar has the reason.',
  'upstream.retired': 'Nobody vouches for a server of tools any more; by whom. Its sidecar has the reason.',
  'identity.key_announced':
    'Another key of identity (`use`: certificates, or tokens) is in the trust bundle and will sign (`signs_from`); in the place of which one, and who asked. Its sidecar has the reason.',
  'identity.key_signs':
    'That key signs from now on; the one before (`replaces`) counts until everything is over that it signed (`old_until`).',
  'identity.key_withdrawn': 'Such a key is out of the trust bundle, and its private half is forgotten.',
  'signing_key.announced':
    'Another key of the proxy or the ledger (`use`: authorizations, checkpoints or exports) is published and will sign (`signs_from`); in the place of which one (`replaces`), and who asked, as his machine knows him (`by`).',
  'signing_key.signs': 'That key signs from then on (`at`); what the one before signed verifies as before.',
  'signing_key.withdrawn':
    'Such a key counts no more (`at`): it is published no longer, and what it signed is refused.',
  'stop.reported':
    'Identity signed the report of what a stop met (`policy_decision` has its digest and counts, the payload the report itself).',
  'stop.released':
    'Such a stop ended: who asked for it, and who confirmed it. Its sidecar has the reason of the second.',
  'identity.grant_issued':
    'A person let an agent act on his behalf: who (`act`), what for (`scope`, `yellow_scope`), how often and until when.',
  'grant.revoked':
    'A grant was taken back; by whom, and where nobody named it, because of what (`because`). Its sidecar has the reason.',
  'tool_definition.pinned':
    'What an agent saw of its tools first, as a proxy reported it to identity (`snapshot_sha256`).',
  'grant.auto_revoked': 'A grant was used up, or its deadline passed and no use was told (`reason`).',
  'agent.envelope_narrowed':
    'What may be delegated to an agent became less; by whom. Its sidecar has the envelope before and after, and the reason.',
  'agent.envelope_widened':
    'What may be delegated to an agent became more; by whom. Its sidecar has the envelope before and after, and the reason.',
  'tenant.operation_started': 'Somebody had a tenant come or go (`kind`); by whom. Its sidecar has the reason.',
  'tenant.operation_halted':
    'A step of such an operation failed so often, or so, that a person looks first: which one, and its last error.',
  'tenant.operation_retried':
    'Somebody had a step of such an operation taken up again: who, which one, and its last error.',
  'tenant.operation_succeeded':
    'Such an operation ended; the digests of the receipts of its steps, who said that each is done, and who had one taken up again.',
  'tenant.offboarded':
    'Identity stopped a tenant and ended its agents for good: how many, and in which generation of the tenant.',
  'tenant.provisioned': 'A tenant was made; the ledger took note.',
  'tenant.final_export': 'The last bundle of a tenant was made and is kept under its digest.',
  'tenant.tombstoned':
    "A tenant's rows up to `through_seq` were hidden from readers; the chain keeps them. Its sidecar is the reason.",
  'regulatory.exported':
    'A signed bundle of a tenant and window left the ledger; the digest of its manifest and who signed.',
  'chain.root_anchored':
    'Somebody outside keeps a copy of the root of the chain; which entry, who, and the digest of the proof.',
  'active_agent.adjusted': 'Active agents were put on or taken off one invoice by hand; the request, word for word.',
  agent_silent:
    'An active agent was not heard for as long as the watchdog waits; since when. Once per silence (GATE_LEDGER_SILENCE_WATCHDOG_INTERVAL_SECS).',
  behavior_drifted:
    'An agent behaves otherwise than before: how far, by what, in basis points, and which tools are new or gone. Once per recent window (GATE_LEDGER_DRIFT_WATCHDOG_INTERVAL_SECS).',
  'namespace.cleaned_up': 'The rows of a namespace up to `through_seq` were hidden from readers; the chain keeps them.',
};

function eventsPage(): string {
  const row = (kind: EventKind, meaning: string) => [`\`${kind}\``, meaning];
  const written = EVENT_KINDS.filter((kind) => EVENT_MEANINGS[kind] !== null);
  const reserved = EVENT_KINDS.filter((kind) => EVENT_MEANINGS[kind] === null);
  return head(
    'Events',
    'contracts/event-kinds.ts',
    [
      'A ledger entry carries its kind as `event_kind` and as `method`. The rows of one call share its `correlation_id`; `gate audit <id>`',
      'prints them in order.',
      '',
      table(
        ['Kind', 'What it says'],
        written.map((kind) => row(kind, EVENT_MEANINGS[kind] ?? '')),
      ),
      '',
      `Part of the contract, written by nothing yet: ${reserved.map((kind) => `\`${kind}\``).join(', ')}. Why, and what else readers know`,
      'and nothing writes: [not yet](not-yet.md).',
    ].join('\n'),
  );
}

function notYetPage(): string {
  return head(
    'Not yet',
    'scripts/find-hollow.ts',
    [
      'Names that readers, rules and answers of Gate know and that nothing stands behind today: event kinds and signals (one that ends with',
      '`_` stands for all that begin so) that no row carries, fields that are always empty, facts that nothing tells the rules. A report that',
      'counts one of them counts none. `npm run hollow` finds them in the source, and a test keeps this list complete.',
      '',
      table(
        ['Name', 'Why'],
        Object.entries(EXPLAINED).map(([name, why]) => [`\`${name}\``, why]),
      ),
    ].join('\n'),
  );
}

function routesPage(): string {
  const rows = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES];
  const governed = [...new Set(rows.map(({ service }) => service))];
  const sections = governed.map((service) => {
    const own = rows.filter((row) => row.service === service);
    const built = own.filter((row) => row.built);
    const later = own.filter((row) => !row.built && row.leftOut === undefined);
    const pages = new Set(own.flatMap((row) => row.leftOut ?? []));
    const lines = (list: typeof own) =>
      table(
        ['Route', 'Capability', 'Callers'],
        list.map((row) => [
          `\`${routeName(row)}\``,
          `\`${row.capability}\``,
          row.callers === 'public'
            ? 'every workload the CA knows'
            : row.callers.map((caller) => `\`${caller}\``).join(', '),
        ]),
      );
    return [
      `## ${service}`,
      ...(built.length > 0 ? ['', lines(built)] : []),
      ...(later.length > 0
        ? ['', `Not built yet (${later.length}): refused like every path without a row.`, '', lines(later)]
        : []),
      ...[...pages].flatMap((page) => [
        '',
        `Left out ([why](${page.replace('docs/', '../')})): refused like every path without a row.`,
        '',
        lines(own.filter((row) => row.leftOut === page)),
      ]),
    ].join('\n');
  });
  return head(
    'Routes',
    'contracts/route-authority.ts',
    [
      'Who may call what between services ([authority table](../architecture/identity-and-routes.md#authority-table)): the caller is known by its certificate and looked up before the body is read. Every',
      'service also answers `GET /health`, `GET /readyz`, `GET /metrics` and `GET /openapi.json` (as in [docs/openapi](../openapi)) on its plain health port.',
      '',
      'What agents ask of the proxy is no part of the table: they call `POST /mcp`, `POST /tool/{name}`, `GET /pending/{correlation_id}` and `GET /authorizations/{correlation_id}` on it',
      'with their own certificate and see their own calls only. `GET /docs/select-a-contract` is the page that a refused client needs, for everybody.',
      '',
      sections.join('\n\n'),
    ].join('\n'),
  );
}

async function metricsPage(): Promise<string> {
  const services: readonly (readonly [string, (registry: Registry) => unknown])[] = [
    ['every service', (registry) => [connectionMetrics(registry), workloadMetrics(registry)]],
    ...SERVICES.flatMap((service) =>
      service.metrics ? [[service.name, (registry: Registry) => service.metrics?.(registry)] as const] : [],
    ),
    [
      'lite, beside those of proxy',
      (registry) => [liteMetrics(registry), alarmsTold(pino({ level: 'silent' }), registry)],
    ],
  ];
  const sections: string[] = [];
  for (const [service, register] of services) {
    const registry = new Registry();
    await register(registry);
    const metrics = await registry.getMetricsAsJSON();
    const lines = metrics.map(({ name, type, help }) => {
      // The library keeps label names beside the values; its type leaves them out.
      const { labelNames = [] } = registry.getSingleMetric(name) as unknown as { labelNames?: readonly string[] };
      return [`\`${name}\``, String(type), labelNames.map((label) => `\`${label}\``).join(', '), help];
    });
    sections.push(`## ${service}\n\n${table(['Name', 'Type', 'Labels', 'What it counts'], lines)}`);
  }
  return head(
    'Metrics',
    'api/*/metrics.ts and lite/metrics.ts',
    [
      '`GET /metrics` on the health port of a service, in the text format that Prometheus reads. Each process also has the `process_*` and',
      '`nodejs_*` metrics of its client library. Lite answers on its one port: [who may read them](../architecture/lite.md#access).',
      '',
      sections.join('\n\n'),
    ].join('\n'),
  );
}

async function templatesPage(): Promise<string> {
  const catalogue = openTemplates();
  const templates = await Promise.all((await catalogue.list()).map(({ name }) => catalogue.read(name)));
  const known = templates.filter((template) => template !== null);
  const domains = [...new Set(known.map(({ facts: { domain } }) => domain))].toSorted();
  const setting = (name: string, of: Json): string => {
    const { description, default: value } = of as { description?: string; default?: Json };
    const short = JSON.stringify(value);
    return `\`${name}\` ${description ?? ''} ${short.length > 60 ? '' : `(\`${short}\`)`}`.trim();
  };
  const sections = domains.map((domain) => {
    const rows = known
      .filter(({ facts }) => facts.domain === domain)
      .map(({ facts: { name, severity, tier, frameworks, summary }, parameters }) => [
        `\`${name.replace(/\.rego$/, '')}\``,
        severity,
        tier,
        frameworks.join(', '),
        summary,
        Object.entries((parameters?.['properties'] ?? {}) as Record<string, Json>)
          .map(([parameter, of]) => setting(parameter, of))
          .join('<br>'),
      ]);
    return `## ${domain}\n\n${table(['Template', 'Severity', 'Tier', 'Frameworks', 'What it does', 'Parameters'], rows)}`;
  });
  return head(
    'Policy templates',
    'policies/templates/',
    [
      `${known.length} policies that ship without being in force: [install one](../how-to/install-a-template.md). Each adds to what the rules that ship`,
      'say, and weakens nothing of it. A short default stands behind its parameter; `gate policy template <name>` shows the others.',
      '',
      sections.join('\n\n'),
    ].join('\n'),
  );
}

export const REFERENCE_DIRECTORY = join(PROJECT_ROOT, 'docs', 'reference');

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  mkdirSync(REFERENCE_DIRECTORY, { recursive: true });
  for (const [file, text] of Object.entries(await referencePages())) {
    writeFileSync(join(REFERENCE_DIRECTORY, file), text);
    process.stdout.write(`docs/reference/${file}\n`);
  }
  const compose = join(PROJECT_ROOT, 'docker-compose.yml');
  writeFileSync(compose, printedCompose(readFileSync(compose, 'utf8')));
  process.stdout.write('docker-compose.yml\n');
}
