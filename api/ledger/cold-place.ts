import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import { StartError } from '../../config/start-error.js';
import type { ColdPlace } from '../../adapters/evidence/cold-tier/cold-place.js';

/** Where the ledger's cold copies go; undefined without such a place. Throws StartError when an object store is only partly configured. */
export function coldPlace(config: Config<typeof LEDGER_SETTINGS>): ColdPlace | undefined {
  const { exportDir: directory, exportUri: uri, exportRetentionSecs } = config;
  const { exportS3Endpoint: endpoint, exportS3Bucket: bucket, exportS3Prefix: prefix, exportS3Region: region } = config;
  const { exportS3AccessKeyId: accessKeyId, exportS3SecretAccessKey: secretAccessKey } = config;
  const kept = { uri, retentionMs: exportRetentionSecs * 1000 };
  if (endpoint && bucket && accessKeyId && secretAccessKey)
    return { at: { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey }, ...kept };
  if (endpoint || bucket || accessKeyId || secretAccessKey)
    throw new StartError(
      'GATE_LEDGER_EXPORT_S3_ENDPOINT, _BUCKET, _ACCESS_KEY_ID, _SECRET_ACCESS_KEY: set all four or none',
    );
  return directory === undefined ? undefined : { at: { directory }, ...kept };
}
