// Stores elsewhere, in an entry of their own: who has none loads none of them.
export { DeferredStore } from './deferred-store.ts';
export { HttpStore, type HttpStoreOptions } from './http/http-store.ts';
export type { JetStreamOptions, NatsCredentials } from './jetstream/jetstream-options.ts';
export { JetStreamStore } from './jetstream/jetstream-store.ts';
export { loadNats } from './jetstream/nats-link.ts';
export { type RelayOptions, RelayStore } from './relay/relay-store.ts';
export type { SidecarAccess } from './relay/sidecar-connection.ts';
