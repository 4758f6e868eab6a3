export {
	type ErrorCode,
	type ErrorCodeFacts,
	errorCodes,
	errorHelp,
	isWireErrorCode,
	type WireErrorCode,
} from './errors/error-code.ts';
export { type ErrorDetails, SpockError, type SpockErrorOptions, type WireError } from './errors/spock-error.ts';
export {
	type EventText,
	encodeEvent,
	encodeEventLine,
	readUplinkFrame,
	type UplinkFrame,
} from './events/event-frame.ts';
export type * from './events/event-model.ts';
export { DEAD_RETRY_GROUP } from './events/event-model.ts';
export {
	isStreamName,
	validateAck,
	validateEvent,
	validateNack,
	validateOpenConsumer,
	validateTerm,
	validateUplink,
} from './events/validate-event.ts';
export { isDeeperThan } from './foundation/json-depth.ts';
export * from './foundation/limits.ts';
export { FrameDecoder, type FrameDecoderOptions, type FrameSink } from './frames/frame-decoder.ts';
export {
	encodeCancel,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	encodeReplyPieces,
	encodeReplyTail,
	encodeRequest,
	encodeRequestTail,
	fitsFrame,
	frameTooLargeError,
	type PayloadText,
} from './frames/frame-encoder.ts';
export { InFlightRing, type InFlightRingOptions } from './frames/in-flight-ring.ts';
export {
	type EventMap,
	type EventName,
	type FuncData,
	type FuncMap,
	type FuncName,
	type FuncReply,
	funcNames,
	type GetInstancesData,
	type GetServiceData,
	type GoawayData,
	type HelloData,
	type HelloReply,
} from './messages/func-map.ts';
export {
	type ClientMessage,
	type Failure,
	type Fault,
	isId,
	isTimeoutMs,
	type Notice,
	type NoticeName,
	noticeNames,
	type Push,
	type Reply,
	type Request,
	readClientMessage,
	readSidecarMessage,
	type SidecarMessage,
} from './messages/message.ts';
export type {
	AddressStatus,
	BackendStatus,
	ClientStatus,
	ExplainReply,
	Hop,
	InstanceExplanation,
	KeyWatchStatus,
	PushedStatus,
	RegistrationStatus,
	StatusReply,
	UpstreamStatus,
	WatcherStatus,
	WatchStatus,
} from './messages/status-data.ts';
export { encodeTrace, readTraceContext, splitTrace, type TraceContext, traceIdOf } from './messages/trace-context.ts';
export { validateFuncData, validateKeyQuery, validateQuery } from './messages/validate-func-data.ts';
export type {
	CheckStatus,
	HoldStatus,
	Inspection,
	InstanceFacts,
	QuestionState,
	RefusedInstance,
} from './model/inspection.ts';
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
} from './model/key-model.ts';
export { isAskedFor, normaliseQuery, queryKey, type ServiceQuery, type ServiceScope } from './model/query.ts';
export type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationBind,
	RegistrationCheck,
	RegistrationReply,
	RegistrationState,
	RegistrationWeights,
	ReportedStatus,
	ReportServiceData,
	TaggedAddress,
} from './model/registration.ts';
export type {
	AskedBy,
	CallOptions,
	KeySource,
	ReadOptions,
	RegistrationListener,
	ServiceRegistrar,
	ServiceSource,
	SnapshotObserver,
	SourceWatch,
	WatchedSource,
} from './model/service-source.ts';
export {
	type InstanceStatus,
	isServing,
	isStale,
	knownAgeMs,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceListEntry,
	type ServiceListPart,
	type ServiceSnapshot,
	type SnapshotDelta,
	type SnapshotInParts,
	type SnapshotPart,
	type SnapshotSource,
	type SnapshotState,
	tooOldError,
} from './model/snapshot.ts';
