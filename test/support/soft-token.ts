import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MODULE = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib64/pkcs11/libsofthsm2.so'].find((path) => existsSync(path));
export const SOFTHSM_PRESENT = MODULE !== undefined;

export interface SoftToken {
  readonly folder: string;
  readonly module: string;
  readonly pinFile: string;
  /** Where a key of this label lies; of another library where one is named. */
  reference(object: string, module?: string): string;
  /** Brings a key there that was made elsewhere, as PKCS #8 in PEM. */
  import(object: string, key: string): void;
  remove(): void;
}

const PIN = '98765432';

/** A new token of SoftHSM, which the environment of this process names until it is removed. */
export function softToken(): SoftToken {
  if (MODULE === undefined) throw new Error('SoftHSM is not there');
  const folder = mkdtempSync(join(tmpdir(), 'gate-token-'));
  mkdirSync(join(folder, 'tokens'));
  const conf = join(folder, 'softhsm2.conf');
  writeFileSync(
    conf,
    `directories.tokendir = ${join(folder, 'tokens')}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  );
  process.env['SOFTHSM2_CONF'] = conf;
  const made = ['--init-token', '--free', '--label', 'gate', '--so-pin', '11223344', '--pin', PIN];
  execFileSync('softhsm2-util', made, { stdio: 'ignore', env: { ...process.env, SOFTHSM2_CONF: conf } });
  const pinFile = join(folder, 'pin');
  writeFileSync(pinFile, `${PIN}\n`, { mode: 0o600 });
  const module = MODULE;
  return {
    folder,
    module,
    pinFile,
    reference: (object, from = module) =>
      `pkcs11:token=gate;object=${object}?module-path=${from}&pin-source=file:${pinFile}`,
    import(object, key) {
      const file = join(folder, 'imported.pem');
      writeFileSync(file, key);
      const named = ['--import', file, '--token', 'gate', '--label', object, '--id', 'a1', '--pin', PIN];
      execFileSync('softhsm2-util', named, { stdio: 'ignore', env: { ...process.env, SOFTHSM2_CONF: conf } });
    },
    remove() {
      delete process.env['SOFTHSM2_CONF'];
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
