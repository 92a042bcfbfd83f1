import { z } from 'zod';
import {
  installTemplate,
  mutatedPolicy,
  policyBatchAnswer,
  policyName,
  templateFile,
  templateLab,
  templateList,
} from '../../../contracts/policy-library.js';
import { GateError } from '../../../domain/errors.js';
import { EVERYBODY } from '../../../domain/policy/library-ports.js';
import { inForce } from '../../../domain/policy/library.js';
import type { Template } from '../../../domain/policy/templates.js';
import { answersAsMade } from '../../plugins/answers-as-made.js';
import type { ServiceApp } from '../../plugins/app.js';
import { managedBy, type PolicyManagement } from '../management.js';
import { ofTenant } from './policies.js';
import { BATCH_BODY_LIMIT, judgedWith } from './trials.js';

/** Parameters, with every character escaped. */
const INSTALL_BODY_LIMIT = 1_048_576;
const byName = z.strictObject({ name: policyName.regex(/\.rego$/, 'ends with .rego') });

/** The catalogue: policies that ship without being in force, until somebody installs one. */
export function policyTemplateRoutes(app: ServiceApp, management: PolicyManagement | null): void {
  const managed = () => managedBy(management);
  async function installedFor(tenant: string): Promise<ReadonlySet<string>> {
    const { policies } = await managed().store.catalogue();
    return new Set(inForce(policies, tenant).map(({ name }) => name));
  }
  async function templateOf(name: string, fields = {}): Promise<Template> {
    const template = await managed().templates.read(name);
    if (!template) throw new GateError('not_found', `there is no template ${name}`, { fields });
    return template;
  }
  app.get(
    '/policies/templates',
    { schema: { querystring: ofTenant, response: { 200: templateList } } },
    async ({ query: { tenant = EVERYBODY } }) => {
      const [all, installed] = [await managed().templates.list(), await installedFor(tenant)];
      return all.map((facts) => ({ ...facts, installed: installed.has(facts.name) }));
    },
  );
  app.get(
    '/policies/templates/:name',
    { schema: { params: byName, querystring: ofTenant, response: { 200: templateFile } } },
    async ({ params: { name }, query: { tenant = EVERYBODY } }) => {
      const { facts, ...rest } = await templateOf(name);
      return { ...facts, ...rest, installed: (await installedFor(tenant)).has(name) };
    },
  );
  app.post(
    '/policies/templates/:name/install',
    {
      bodyLimit: INSTALL_BODY_LIMIT,
      schema: { params: byName, querystring: ofTenant, body: installTemplate, response: { 200: mutatedPolicy } },
    },
    async ({ params: { name }, query: { tenant = EVERYBODY }, body }) =>
      managed().library.install(tenant, await templateOf(name), body),
  );
  app.post(
    '/policies/templates/:name/lab',
    {
      bodyLimit: BATCH_BODY_LIMIT,
      ...answersAsMade,
      schema: { params: byName, querystring: ofTenant, body: templateLab, response: { 200: policyBatchAnswer } },
    },
    async ({ params: { name }, query: { tenant = EVERYBODY }, body: { parameters, ...tried } }) => {
      const { body } = await templateOf(name, { candidate_compile_ok: false });
      return judgedWith(managed(), tenant, { ...tried, name, body, parameters });
    },
  );
}
