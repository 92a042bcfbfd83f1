import { ACTIONS } from '../../../console/routes.js';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../../config/project-root.js';
import type { JsonObject } from '../../../contracts/json.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY } from '../../../contracts/route-authority.js';
import { LISTENING_SERVICES } from '../../../stack/services.js';
import { openLite } from '../../support/lite.js';
import { gate } from '../../support/running-stack.js';

const FOLDER = join(PROJECT_ROOT, 'docs', 'openapi');
/** `GATE_TEST_OPENAPI=write` writes what the services say now. */
const WRITES = process.env['GATE_TEST_OPENAPI'] === 'write';

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: JsonObject }>>>>;
}

const documents = new Map<string, string>();
beforeAll(async () => {
  for (const { name, key } of LISTENING_SERVICES) {
    const { text } = await gate.health(key ?? name, '/openapi.json');
    documents.set(name, printed(text));
  }
  const lite = await openLite();
  documents.set('lite', printed(await (await fetch(`${lite.lite.url}/openapi.json`)).text()));
  await lite.close();
}, 60_000);

const printed = (text: string): string => `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
const parsed = (name: string): Document => JSON.parse(documents.get(name) ?? '{}') as Document;
const told = (name: string): string[] =>
  Object.entries(parsed(name).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

/** Every reference of a document, and whether it leads somewhere. */
const dangling = (document: Document): string[] =>
  [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)]
    .map(([, path = '']) => path)
    .filter(
      (path) => path.split('/').reduce<unknown>((at, part) => (at as JsonObject)?.[part], document) === undefined,
    );

describe('the OpenAPI document of each service', () => {
  it('is the committed one', () => {
    if (WRITES) {
      mkdirSync(FOLDER, { recursive: true });
      for (const [name, text] of documents) writeFileSync(join(FOLDER, `${name}.json`), text);
    }
    expect(readdirSync(FOLDER).sort()).toEqual([...documents.keys()].map((name) => `${name}.json`).sort());
    for (const [name, text] of documents)
      expect([name, readFileSync(join(FOLDER, `${name}.json`), 'utf8')]).toEqual([name, text]);
  });

  it('names every route of the authority table that is built, and no route twice', () => {
    for (const { service, method, path, built } of [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES])
      if (built) expect([service, told(service)]).toEqual([service, expect.arrayContaining([`${method} ${path}`])]);
    for (const name of documents.keys()) expect(told(name)).toHaveLength(new Set(told(name)).size);
  });

  it('tells the form of refusals at every route, and refers to nothing that is not there', () => {
    for (const name of documents.keys()) {
      const document = parsed(name);
      expect(document.openapi).toBe('3.1.0');
      expect([name, dangling(document)]).toEqual([name, []]);
      for (const methods of Object.values(document.paths))
        for (const { responses } of Object.values(methods)) expect(Object.keys(responses)).toContain('default');
    }
  });

  it('tells what each form of the console takes, as people write it', () => {
    const { paths } = parsed('console');
    for (const { path, written } of ACTIONS) {
      const told = JSON.stringify(paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.['post'] ?? null);
      expect([path, told]).toEqual([path, expect.stringContaining('"application/x-www-form-urlencoded"')]);
      expect([path, told]).toEqual([path, expect.stringContaining('"csrf"')]);
      for (const name of Object.keys(written))
        expect([path, told]).toEqual([path, expect.stringContaining(name.endsWith('.*') ? 'additional' : `"${name}"`)]);
    }
    for (const path of ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'])
      expect([path, JSON.stringify(paths[path])]).toEqual([path, expect.stringContaining('"client_id"')]);
  });

  it('tells what signing in at the console takes and gives', () => {
    const { paths } = parsed('console');
    const says = (path: string, ...names: readonly string[]) => {
      const said = JSON.stringify(paths[path] ?? null);
      for (const name of names) expect([path, said]).toEqual([path, expect.stringContaining(`"${name}"`)]);
    };
    says('/login', 'return_to', 'link', 'token');
    says('/logout', 'csrf');
    says('/auth/links', 'expires_in_secs');
    says('/auth/me', 'authenticated', 'expires_at');
    says('/auth/register/start', 'recovery_token', 'publicKey');
    says('/auth/register/finish', 'attestationObject', 'credential_id');
    says('/auth/login/finish', 'authenticatorData');
    says('/auth/enrollment/invitations', 'token');
  });

  it('tells what an agent sends, where no schema reads it', () => {
    const mcp = parsed('proxy').paths['/mcp']?.['post'];
    expect(Object.keys(mcp?.responses ?? {})).toEqual(['200', '202', '204', 'default']);
  });
});
