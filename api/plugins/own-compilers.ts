const unasked = (): never => {
  throw new Error('a route has a schema and its app no compiler for it');
};

/**
 * For `Fastify({ schemaController })`: keeps Fastify from creating default compilers. It would load a JSON Schema validator and a
 * serializer at the start, a hundred files that no route of Gate uses.
 */
export const ownCompilersOnly = {
  compilersFactory: { buildValidator: () => unasked, buildSerializer: () => unasked },
};
