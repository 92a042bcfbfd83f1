import { Connection, isGrpcServiceError } from '@temporalio/client';
import { msNumberToTs, tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from './search-attributes.js';

/** Closed workflows are kept at least as long as their records (docs/architecture/record-and-claim.md). */
const RETENTION_MS = 30 * 86_400_000;

/** Resolves when the engine at this address answers and the namespace is in place; rejects while it does not. */
export async function answersWithNamespace(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '2s' });
  try {
    await prepareNamespace(connection, namespace);
  } finally {
    await connection.close();
  }
}

/**
 * Gate's namespace with its retention and search attributes: created when missing, changed when different. Throws until the server answers.
 * Safe to repeat.
 */
export async function prepareNamespace(connection: Connection, namespace: string): Promise<void> {
  await connection.withDeadline(Date.now() + 10_000, async () => {
    const { workflowService, operatorService } = connection;
    const config = await describeOrRegister(connection, namespace);
    if (tsToMs(config?.workflowExecutionRetentionTtl) !== RETENTION_MS)
      await workflowService.updateNamespace({
        namespace,
        config: { workflowExecutionRetentionTtl: msNumberToTs(RETENTION_MS) },
      });
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const missing = SEARCH_ATTRIBUTES.filter((name) => !(name in (customAttributes ?? {})));
    if (missing.length > 0)
      await operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(
          missing.map((name) => [name, proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD]),
        ),
      });
  });
}

const GRPC_NOT_FOUND = 5;

async function describeOrRegister({ workflowService }: Connection, namespace: string) {
  try {
    return (await workflowService.describeNamespace({ namespace })).config;
  } catch (error) {
    if (!(isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND)) throw error;
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msNumberToTs(RETENTION_MS),
    });
    return (await workflowService.describeNamespace({ namespace })).config;
  }
}
