export { type ErrorCode, isWireErrorCode, type WireErrorCode } from './error-code.ts';
export { type ErrorCodeFacts, errorCodes } from './error-code-facts.ts';
export { FrameDecoder, type FrameDecoderOptions, type FrameSink } from './frame-decoder.ts';
export {
	encodeCancel,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	encodeReplyTail,
	encodeRequest,
	encodeRequestTail,
	type PayloadText,
} from './frame-encoder.ts';
export { fitsFrame, frameTooLargeError } from './frame-size.ts';
export type {
	BackendStatus,
	ClientStatus,
	EventMap,
	EventName,
	ExplainReply,
	FuncData,
	FuncMap,
	FuncName,
	FuncReply,
	GetInstancesData,
	GetServiceData,
	GoawayData,
	HelloData,
	HelloReply,
	InstanceExplanation,
	KeyWatchStatus,
	RegistrationStatus,
	StatusReply,
	WatcherStatus,
	WatchStatus,
} from './func-map.ts';
export { InFlightRing, type InFlightRingOptions } from './in-flight-ring.ts';
export type {
	CheckStatus,
	HoldStatus,
	Inspection,
	InstanceFacts,
	QuestionState,
	RefusedInstance,
} from './inspection.ts';
export { isDeeperThan } from './json-depth.ts';
export {
	entriesOf,
	type GetKeyData,
	type KeyEntry,
	type KeyPrefixSnapshot,
	type KeyQuery,
	type KeySnapshot,
	type KeyValueSnapshot,
	keyQueryKey,
	makeKeySnapshot,
	normaliseKeyQuery,
	type SnapshotState,
} from './key-model.ts';
export * from './limits.ts';
export { knownAgeMs, tooOldError } from './max-age.ts';
export type { ClientMessage, Failure, Fault, Notice, Push, Reply, Request, SidecarMessage } from './message.ts';
export {
	type InstanceStatus,
	isAskedFor,
	isServing,
	isStale,
	normaliseQuery,
	queryKey,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceListEntry,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotSource,
} from './model.ts';
export type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationBind,
	RegistrationCheck,
	RegistrationListener,
	RegistrationReply,
	RegistrationState,
	RegistrationWeights,
	ReportedStatus,
	ReportServiceData,
	ServiceRegistrar,
	TaggedAddress,
} from './registration.ts';
export type {
	AskedBy,
	CallOptions,
	KeySource,
	ReadOptions,
	ServiceSource,
	SnapshotObserver,
	SourceWatch,
	WatchedSource,
} from './service-source.ts';
export { SpockError, type SpockErrorOptions, type WireError } from './spock-error.ts';
export type { TakeOverData, TakeOverReply } from './take-over.ts';
export { encodeTrace, readTraceContext, splitTrace, type TraceContext, traceIdOf } from './trace-context.ts';
export { funcNames, validateFuncData, validateKeyQuery, validateQuery } from './validate-func-data.ts';
export { isId, isTimeoutMs, readClientMessage, readSidecarMessage } from './validate-message.ts';
