export {
	BackendSource,
	type BackendSourceOptions,
	DEFAULT_ANSWERS_BYTES_MAX,
	DEFAULT_EMPTY_HOLD_MS,
	DEFAULT_ENTRIES_MAX,
	DEFAULT_IDLE_TTL_MS,
	DEFAULT_KEY_ENTRIES_MAX,
	DEFAULT_PANIC_THRESHOLD,
} from './backend-source.ts';
export { type ChainBackendOptions, chainBackend } from './backends/chain/chain-backend.ts';
export { type ConsulAddress, parseConsulAddress } from './backends/consul/client/consul-address.ts';
export {
	type ConsulConnectionOptions,
	type ConsulConsistency,
	type ConsulLoginOptions,
	type ConsulTls,
	DEFAULT_BEARER_TOKEN_FILE,
	DEFAULT_CONSUL_ADDRESS,
	DEFAULT_CONSUL_CONSISTENCY,
	DEFAULT_CONSUL_WAIT_MS,
} from './backends/consul/client/consul-options.ts';
export { LastGood, type LastGoodOptions } from './backends/consul/client/last-good.ts';
export { TlsFiles, type TlsFilesOptions } from './backends/consul/client/tls-files.ts';
export { consulBackend } from './backends/consul/consul-backend.ts';
export { type ConsulBackendOptions, consulOptionsFromEnvironment } from './backends/consul/consul-backend-options.ts';
export { ConsulHttp } from './backends/consul/http/consul-http.ts';
export type { TaggedAddress } from './backends/consul/watches/health-entry.ts';
export { DEFAULT_POLLS_PER_MINUTE_MAX } from './backends/consul/watches/service-watches.ts';
export { dnsBackend } from './backends/dns/dns-backend.ts';
export {
	DEFAULT_DNS_PROTOCOL,
	DEFAULT_DNS_TTL_MS_MAX,
	DEFAULT_DNS_TTL_MS_MIN,
	type DnsBackendOptions,
} from './backends/dns/dns-options.ts';
export { DEFAULT_NAME_TEMPLATE as DEFAULT_DNS_NAME_TEMPLATE } from './backends/dns/name-template.ts';
export { createLocalBackend, type LocalBackend, type LocalBackendOptions } from './backends/local/local-backend.ts';
export { parseServicesFile, ServicesFileError } from './backends/local/services-file.ts';
export type { ServicesFileContent, ServicesFileInstance } from './backends/local/services-file-reader.ts';
export { RecordFileError, type Recording, readRecording } from './backends/replay/read-recording.ts';
export {
	type MarkRecord,
	RECORD_BYTES_MAX,
	type RecordHeader,
	type RecordLine,
	type SnapshotRecord,
} from './backends/replay/record-format.ts';
export { RecordWriter, type RecordWriterOptions } from './backends/replay/record-writer.ts';
export { createReplayBackend, type ReplayBackendOptions } from './backends/replay/replay-backend.ts';
export { type RecordedSource, ServiceRecorder } from './backends/replay/service-recorder.ts';
export { cacheEntryMachine } from './cache/cache-entry-machine.ts';
export {
	type ConsulSourceOptions,
	consulSource,
	type DnsSourceOptions,
	dnsSource,
	type LocalSourceOptions,
	localSource,
} from './direct-sources.ts';
export type {
	AgedList,
	Backend,
	BackendContext,
	BackendFactory,
	BackendObserver,
	BackendWatch,
} from './foundation/backend.ts';
export type { DiscoveryEvent, DiscoveryListener, RegistrationPhase } from './foundation/discovery-event.ts';
export type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	Registrar,
	RegistrationTerms,
} from './foundation/registrar.ts';
export type {
	RegistrationCatalogue,
	RegistrationName,
	RegistrationPlace,
	Sighting,
} from './foundation/registration-place.ts';
export { diffInstances, type SnapshotDiff } from './foundation/snapshot-diff.ts';
export { directRegistrar } from './registration/direct-registrar.ts';
export { PlacedRegistrar, type PlacedRegistrarOptions } from './registration/places/placed-registrar.ts';
export type { RegistrationHolder } from './registration/registration-holders.ts';
export { registrationMachine } from './registration/registration-machine.ts';
export { registrationSyncMachine } from './registration/registration-sync.ts';
export { Registrations } from './registration/registrations.ts';
export {
	DEFAULT_RECONNECT_GRACE_MS,
	DEFAULT_REGISTRATIONS_MAX,
	DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
	DEFAULT_TTL_MS as DEFAULT_REGISTRATION_TTL_MS,
	type RegistrationsOptions,
} from './registration/registrations-options.ts';
export { DEFAULT_STATE_BYTES_MAX } from './state/state-store.ts';
export { type FetchAnswer, WatchLoop, type WatchLoopOptions, watchMachine } from './watch/watch-loop.ts';
