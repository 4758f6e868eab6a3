export type { Backend, BackendContext, BackendFactory, BackendObserver, BackendWatch } from './backend.ts';
export { BackendSource, type BackendSourceOptions } from './backend-source.ts';
export { cacheEntryMachine } from './cache-entry-machine.ts';
export { type ChainBackendOptions, chainBackend } from './chain/chain-backend.ts';
export { type ConsulAddress, parseConsulAddress } from './consul/consul-address.ts';
export { consulBackend } from './consul/consul-backend.ts';
export { type ConsulBackendOptions, consulOptionsFromEnvironment } from './consul/consul-backend-options.ts';
export { ConsulHttp } from './consul/consul-http.ts';
export type { ConsulConnectionOptions, ConsulLoginOptions, ConsulTls } from './consul/consul-options.ts';
export type { TaggedAddress } from './consul/health-entry.ts';
export { LastGood, type LastGoodOptions } from './consul/last-good.ts';
export { TlsFiles, type TlsFilesOptions } from './consul/tls-files.ts';
export {
	type ConsulSourceOptions,
	consulSource,
	type DnsSourceOptions,
	dnsSource,
	type LocalSourceOptions,
	localSource,
} from './direct-sources.ts';
export type { DiscoveryEvent, DiscoveryListener, RegistrationPhase } from './discovery-event.ts';
export { dnsBackend } from './dns/dns-backend.ts';
export type { DnsBackendOptions } from './dns/dns-options.ts';
export { createLocalBackend, type LocalBackend, type LocalBackendOptions } from './local/local-backend.ts';
export { parseServicesFile, ServicesFileError } from './local/services-file.ts';
export type { ServicesFileContent, ServicesFileInstance } from './local/services-file-content.ts';
export { directRegistrar } from './registration/direct-registrar.ts';
export type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	Registrar,
	RegistrationTerms,
} from './registration/registrar.ts';
export type { RegistrationHolder } from './registration/registration-holders.ts';
export { registrationMachine } from './registration/registration-machine.ts';
export { registrationSyncMachine } from './registration/registration-sync-machine.ts';
export { Registrations } from './registration/registrations.ts';
export type { RegistrationsOptions } from './registration/registrations-options.ts';
export { RecordFileError, type Recording, readRecording } from './replay/read-recording.ts';
export {
	type MarkRecord,
	RECORD_BYTES_MAX,
	type RecordHeader,
	type RecordLine,
	type SnapshotRecord,
} from './replay/record-format.ts';
export { createReplayBackend, type ReplayBackendOptions } from './replay/replay-backend.ts';
export type { SnapshotDiff } from './snapshot-diff.ts';
export { type FetchAnswer, WatchLoop, type WatchLoopOptions } from './watch-loop.ts';
export { watchMachine } from './watch-machine.ts';
