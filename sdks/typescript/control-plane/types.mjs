import { writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

export const SERVICES = ['brain', 'hil', 'identity', 'ledger', 'policy-engine', 'proxy'];

const described = (service) => new URL(`../../../docs/openapi/${service}.json`, import.meta.url);
export const fileOf = (service) => new URL(`src/generated/${service}.ts`, import.meta.url);

/** Any JSON: as a type that names itself it cannot be written down. */
const ANY_JSON = /^#\/components\/schemas\/Json(?:Input)?$/;

/** The types of a service, from its OpenAPI. */
export async function typesOf(service) {
  const nodes = await openapiTS(described(service), {
    defaultNonNullable: false,
    silent: true,
    transform: (_, { path }) =>
      ANY_JSON.test(path ?? '') ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.UnknownKeyword) : undefined,
  });
  return `// Made from docs/openapi/${service}.json by \`npm run types\`.\n${astToString(nodes)}`;
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  for (const service of SERVICES) await writeFile(fileOf(service), await typesOf(service));
