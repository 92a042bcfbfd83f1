import type { Config } from '../config/env.js';
import type { ENGINE_SETTINGS } from '../config/shared.js';
import { StartError } from '../config/start-error.js';
import type { EngineAddress } from '../workers/client.js';

type EngineTls = Pick<Config<typeof ENGINE_SETTINGS>, 'tlsCaFile' | 'tlsCertFile' | 'tlsKeyFile'>;
type EngineSettings = EngineTls & Pick<Config<typeof ENGINE_SETTINGS>, 'namespace' | 'tlsServerName'>;

/** Half of a mutual TLS configuration must not silently become none. */
export const engineTlsFault = ({ tlsCaFile, tlsCertFile, tlsKeyFile }: EngineTls): string | null =>
  [tlsCaFile, tlsCertFile, tlsKeyFile].some(Boolean) && !(tlsCaFile && tlsCertFile && tlsKeyFile)
    ? 'GATE_TEMPORAL_TLS_CA_FILE, GATE_TEMPORAL_TLS_CERT_FILE, GATE_TEMPORAL_TLS_KEY_FILE: set all three or none'
    : null;

/** Where and how the engine is reached. Throws StartError when its TLS files are only partly configured. */
export function engineAddress(config: EngineSettings, address: string): EngineAddress {
  const { tlsCaFile: caFile, tlsCertFile: certFile, tlsKeyFile: keyFile, tlsServerName: serverName } = config;
  const fault = engineTlsFault(config);
  if (fault) throw new StartError(fault);
  if (!caFile || !certFile || !keyFile) return { address, namespace: config.namespace };
  return {
    address,
    namespace: config.namespace,
    tls: { caFile, certFile, keyFile, ...(serverName && { serverName }) },
  };
}
