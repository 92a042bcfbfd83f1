import protobuf from 'protobufjs';

/**
 * The messages of the SPIFFE Workload API that are answered with (https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE_Workload_API.md, 5.2
 * and 6.2), as the standard numbers their fields. Its requests carry nothing that is read.
 */
const INTERFACE = `
  syntax = "proto3";
  message X509SVIDResponse {
    repeated X509SVID svids = 1;
    repeated bytes crl = 2;
    map<string, bytes> federated_bundles = 3;
  }
  message X509SVID {
    string spiffe_id = 1;
    bytes x509_svid = 2;
    bytes x509_svid_key = 3;
    bytes bundle = 4;
    string hint = 5;
  }
  message X509BundlesResponse {
    repeated bytes crl = 1;
    map<string, bytes> bundles = 2;
  }
  message JWTBundlesResponse {
    map<string, bytes> bundles = 1;
  }
`;
const { root } = protobuf.parse(INTERFACE, { keepCase: true });

/** The bytes of a message of this name. */
const encoder = <Message extends object>(name: string): ((message: Message) => Buffer) => {
  const type = root.lookupType(name);
  return (message) => Buffer.from(type.encode(type.fromObject(message)).finish());
};

export const encodeX509Svids = encoder<{
  readonly svids: readonly {
    readonly spiffe_id: string;
    readonly x509_svid: Buffer;
    readonly x509_svid_key: Buffer;
    readonly bundle: Buffer;
  }[];
}>('X509SVIDResponse');
export const encodeX509Bundles = encoder<{ readonly bundles: Readonly<Record<string, Buffer>> }>('X509BundlesResponse');
export const encodeJwtBundles = encoder<{ readonly bundles: Readonly<Record<string, Buffer>> }>('JWTBundlesResponse');
