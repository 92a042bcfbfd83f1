import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonObject } from '../../contracts/json.js';
import { templateFacts } from '../../contracts/policy-library.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { Template, TemplateCatalogue } from '../../domain/policy/templates.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from './policy-sources.js';

/** What `npm run policies` writes: what the headers say, and which bytes belong to it. */
export const templateIndex = z.strictObject({
  schema_version: z.literal(1),
  templates: z.array(
    z.strictObject({
      ...templateFacts.shape,
      body_sha256: z.string(),
      /** Of the schema of its parameters; null where it has none. */
      parameters_sha256: z.string().nullable(),
    }),
  ),
});
export type TemplateIndex = z.infer<typeof templateIndex>;

/** The catalogue of a policy folder. Its index is read once, a template when it is asked for; both as they were built or not at all. */
export function openTemplates(directory = shippedPolicyDirectory()): TemplateCatalogue {
  const unavailable = (error: unknown): GateError =>
    new GateError('policy_unavailable', `policy templates: ${errorText(error)}`, { cause: error });
  let reading: Promise<TemplateIndex> | undefined;
  const index = (): Promise<TemplateIndex> =>
    (reading ??= readFile(join(directory, POLICY_LAYOUT.templateIndex), 'utf8')
      .then((text) => templateIndex.parse(JSON.parse(text)))
      .catch((error: unknown) => {
        reading = undefined;
        throw unavailable(error);
      }));
  async function asBuilt(path: string, digest: string): Promise<string> {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw unavailable(error);
    });
    if (sha256Hex(text) !== digest)
      throw unavailable(`${path} was changed after the index was built; run npm run policies`);
    return text;
  }
  const read = async (name: string): Promise<Template | null> => {
    const found = (await index()).templates.find((template) => template.name === name);
    if (!found) return null;
    const { body_sha256, parameters_sha256: schema, ...facts } = found;
    const path = join(directory, POLICY_LAYOUT.templates, facts.domain, name);
    return {
      facts,
      body_sha256,
      body: await asBuilt(path, body_sha256),
      parameters: schema === null ? null : jsonObject.parse(JSON.parse(await asBuilt(schemaPath(path), schema))),
    };
  };
  return {
    read,
    list: async () =>
      (await index()).templates.map(({ body_sha256: _body, parameters_sha256: _schema, ...facts }) => facts),
    parametersOf: async (mount) => (await read(`${mount}.rego`))?.parameters ?? null,
  };
}

export const schemaPath = (template: string): string => template.replace(/\.rego$/, '.schema.json');
