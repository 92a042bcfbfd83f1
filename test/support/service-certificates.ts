import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { openKey } from '../../adapters/identity/sealed-key.js';
import { CALLER_IDS } from '../../contracts/route-authority.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { serviceSpiffe } from '../../domain/identity/spiffe.js';
import {
  type DevLeaf,
  type DevPki,
  type DevPkiOptions,
  ensureDevelopmentPki,
} from '../../stack/certificates/dev-pki.js';

type IdOfService<Id> = Id extends `service-${infer Name}` ? Name : never;
type ServiceName = IdOfService<(typeof CALLER_IDS)[keyof typeof CALLER_IDS]>;
const NAMES = Object.values(CALLER_IDS).flatMap((id) =>
  id.startsWith('service-') ? [id.slice('service-'.length)] : [],
);

/** With a certificate for each service, as an issuer that is not Gate's identity gives them: they are used as they are. */
export interface TestPki extends DevPki {
  readonly services: Readonly<Record<ServiceName, DevLeaf>>;
}

export async function ensureTestPki(options: DevPkiOptions): Promise<TestPki> {
  const pki = await ensureDevelopmentPki(options);
  const services = {} as Record<ServiceName, DevLeaf>;
  for (const name of NAMES)
    services[name as ServiceName] = await serviceCertificate(pki.stateDir, name, options.trustDomain);
  return { ...pki, services };
}

/** A certificate of two days for a service, by the CA of a state folder. */
export async function serviceCertificate(stateDir: string, name: string, trustDomain = 'gate.local'): Promise<DevLeaf> {
  const read = (file: string) => readFileSync(join(stateDir, file), 'utf8');
  const ca = read('pki/ca/ca.crt');
  const key = openKey(parseKeyRing(read('secrets/identity-keys').trim()), 'certificates', read('pki/ca/ca.key.sealed'));
  const spiffe = serviceSpiffe(trustDomain, name);
  const leaf = await issueLeaf(
    { cert: ca, key },
    {
      commonName: name,
      spiffe,
      hosts: ['localhost', '127.0.0.1', '::1'],
      usages: ['server', 'client'],
      notBefore: new Date(Date.now() - 86_400_000),
      notAfter: new Date(Date.now() + 2 * 86_400_000),
    },
  );
  const folder = join(stateDir, 'of-tests');
  mkdirSync(folder, { recursive: true });
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  writeFileSync(certFile, leaf.cert);
  writeFileSync(keyFile, leaf.key);
  return { ...leaf, spiffe, ca, certFile, keyFile };
}
