import { z } from 'zod';
import {
  DECOY_VALUE_LEAST,
  decoyHits,
  decoyHitsTold,
  decoyList,
  decoyPath,
  type DecoyRecord,
  decoyRecord,
  decoyRemovalQuery,
  decoyRetired,
  decoysQuery,
  EVERY_TENANT,
  newDecoy,
} from '../../../contracts/decoys.js';
import { decoyAction } from '../../../contracts/decoy-kinds.js';
import { GateError } from '../../../domain/errors.js';
import type { DecoyContainment } from '../../../domain/identity/decoy-containment.js';
import { comparable } from '../../../domain/identity/decoy-readings.js';
import type { Decoy, DecoyStore, KeptDecoy } from '../../../domain/identity/decoys.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People, Person } from '../people.js';
import { changeBy, instant, instantOr } from './changes.js';

export interface DecoyRouteParts {
  readonly store: DecoyStore;
  readonly people: People;
  /** Whose administrators set decoys for everybody; nobody does without it. */
  readonly deploymentTenant?: string | undefined;
  readonly containment: DecoyContainment;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** What nobody should call or use, and who did (docs/architecture/decoys.md). */
export function decoyRoutes(app: ServiceApp, parts: DecoyRouteParts): void {
  const { store, people, deploymentTenant, containment, clock, onChanged } = parts;
  const onRequest = askerFirst(people.administratorOf);

  app.get(
    '/decoys',
    { schema: { querystring: decoysQuery, response: { 200: decoyList } }, onRequest: askerFirst(people.readerOf) },
    async (request) => {
      const { tenant } = request.query;
      people.assertReads(tenant, request);
      return { decoys: (await store.decoys(tenant)).map(recordOf) };
    },
  );
  app.get(
    '/decoys/hits',
    { schema: { querystring: decoysQuery, response: { 200: decoyHits } }, onRequest: askerFirst(people.readerOf) },
    async (request) => {
      const { tenant } = request.query;
      people.assertReads(tenant, request);
      const hits = await store.decoyHits(tenant);
      return {
        hits: hits.map((one) => ({
          decoy_id: one.decoyId,
          decoy: one.decoy.name,
          kind: one.decoy.kind,
          tenant: one.tenant,
          agent_name: one.agent,
          hits: one.hits,
          first_at: instant(one.firstMs),
          last_at: instant(one.lastMs),
          correlation_id: one.correlationId,
          contained: one.contained,
        })),
      };
    },
  );
  app.post(
    '/decoys',
    { schema: { body: newDecoy, response: { 201: decoyRecord } }, onRequest },
    async (request, reply) => {
      const person = assertMayChange(people.administratorOf(request), request.body.tenant);
      const decoy = decoyOf(request.body);
      const added = await store.addDecoy(decoy, changeBy(person, request.body.reason, clock()));
      onChanged();
      return reply.code(201).send(recordOf(added));
    },
  );
  app.delete(
    '/decoys/:name',
    { schema: { params: decoyPath, querystring: decoyRemovalQuery, response: { 200: decoyRetired } }, onRequest },
    async (request) => {
      const { tenant } = request.query;
      const person = assertMayChange(people.administratorOf(request), tenant);
      await store.retireDecoy({ tenant, name: request.params.name }, changeBy(person, undefined, clock()));
      onChanged();
      return { retired: true as const };
    },
  );
  app.post(
    '/decoys/hits',
    { schema: { body: decoyHitsTold, response: { 200: z.strictObject({ told: z.number().int() }) } } },
    async (request) => {
      const { hits } = request.body;
      // Rows wait also where something is left.
      for (const one of hits)
        await containment
          .counted(
            {
              decoyId: one.decoy_id,
              tenant: one.tenant,
              agent: one.agent_name,
              hits: one.hits,
              lastMs: Date.parse(one.last_at),
              correlationId: one.correlation_id,
            },
            one.contain,
            clock(),
          )
          .finally(onChanged);
      return { told: hits.length };
    },
  );

  function assertMayChange(person: Person, tenant: string): Person {
    if (person.tenant !== (tenant === EVERY_TENANT ? deploymentTenant : tenant)) throw new GateError('tenant_mismatch');
    return person;
  }
}

/** Throws `decoy_invalid` for what could not be found, or could not be shown. */
function decoyOf(asked: z.infer<typeof newDecoy>): Omit<Decoy, 'id'> {
  const { tenant, name, kind, advertised, value = null, schema_json: schemaJson = null, description = null } = asked;
  const action = decoyAction.safeParse(asked.action ?? (advertised ? 'suspend' : 'force_hil'));
  const invalid = (why: string) => new GateError('decoy_invalid', why);
  if (!action.success) throw invalid(`no such action: ${asked.action}; there are suspend, force_hil and none`);
  if ((kind === 'value') !== (value !== null)) throw invalid('a decoy of kind value has a value, and a tool has none');
  if (value !== null && comparable(value).length < DECOY_VALUE_LEAST)
    throw invalid(`a value has at least ${DECOY_VALUE_LEAST} letters and digits of the Latin alphabet`);
  if (kind === 'value' && (advertised || schemaJson !== null)) throw invalid('only a tool is shown in tools/list');
  if (schemaJson !== null && !isToolInput(schemaJson))
    throw invalid('schema_json is a JSON Schema of type "object", as a text, whose properties are objects');
  return { tenant, name, kind, value, isAdvertised: advertised, action: action.data, schemaJson, description };
}

/** As MCP has the input of a tool: clients that find another one in a list take no tool of that list. */
const toolInput = z.looseObject({
  type: z.literal('object'),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
});

function isToolInput(text: string): boolean {
  try {
    return toolInput.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}

const HINTED = 4;
const recordOf = (decoy: KeptDecoy): DecoyRecord => ({
  id: decoy.id,
  tenant: decoy.tenant,
  name: decoy.name,
  kind: decoy.kind,
  advertised: decoy.isAdvertised,
  action: decoy.action,
  schema_json: decoy.schemaJson,
  description: decoy.description,
  value_hint: decoy.value && `${decoy.value.slice(0, HINTED)}… (${decoy.value.length})`,
  created_at: instant(decoy.createdMs),
  created_by: decoy.createdBy,
  hits: decoy.hits,
  last_hit_at: instantOr(decoy.lastHitMs),
});
