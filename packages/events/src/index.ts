export { NodeFiles } from './disk/node-files.ts';
export { NodeOwner } from './disk/node-owner.ts';
export { EventService } from './event-service.ts';
export type { EventPage, LogMemory, ReadEvents, RecordLog } from './foundation/event-log.ts';
export type {
	Consumer,
	ConsumerSink,
	Delivery,
	Intake,
	OpenedProducer,
	ProducerLine,
	Uplink,
} from './foundation/event-sessions.ts';
export type { EventStore, StoreReader, StoreReaderOptions } from './foundation/event-store.ts';
export type { DamageReport, EventsObserver } from './foundation/events-observer.ts';
export type { Files, LogOwner, ReadableFile, WritableFile } from './foundation/files.ts';
export type {
	EventOrigin,
	LogEvent,
	LogRecord,
	NewEvent,
	NewNote,
	NewRecord,
	RecordPlace,
	ReplayedRecord,
} from './foundation/log-record.ts';
export { EventLog } from './log/event-log.ts';
export { inspectLog, type LogReport } from './log/inspect-log.ts';
export { type LogState, logMachine } from './log/log-machine.ts';
export { DEFAULT_LOG_LIMITS, type EventLogOptions, type LogLimits, type LogListener } from './log/log-options.ts';
export type { LogSegment } from './segments/segment.ts';
export type { LogDamage } from './segments/segment-recovery.ts';
export type { EventServiceBugs, EventServiceLimits, EventServiceOptions } from './service-options.ts';
