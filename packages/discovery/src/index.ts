export type { Backend, BackendObserver, BackendWatch } from './backend.ts';
export { BackendSource, type BackendSourceOptions } from './backend-source.ts';
export { cacheEntryMachine } from './cache-entry-machine.ts';
export { type ConsulAddress, parseConsulAddress } from './consul/consul-address.ts';
export { consulBackend } from './consul/consul-backend.ts';
export { ConsulHttp } from './consul/consul-http.ts';
export {
	type ConsulBackendOptions,
	type ConsulConnectionOptions,
	type ConsulTls,
	consulOptionsFromEnvironment,
} from './consul/consul-options.ts';
export type { DiscoveryEvent, DiscoveryListener } from './discovery-event.ts';
export { createLocalBackend, type LocalBackend, type LocalBackendOptions } from './local/local-backend.ts';
export {
	parseServicesFile,
	type ServicesFileContent,
	ServicesFileError,
	type ServicesFileInstance,
} from './local/services-file.ts';
export type { SnapshotDiff } from './snapshot-diff.ts';
export { watchMachine } from './watch-machine.ts';
