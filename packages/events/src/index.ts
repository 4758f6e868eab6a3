export type { EventPage, LogMemory, ReadEvents, RecordLog } from './foundation/event-log.ts';
export type { EventStore, StoreReader, StoreReaderOptions } from './foundation/event-store.ts';
export type { Files, ReadableFile, WritableFile } from './foundation/files.ts';
export type { LogOwner } from './foundation/log-owner.ts';
export type {
	EventOrigin,
	LogEvent,
	LogRecord,
	NewEvent,
	NewNote,
	NewRecord,
	RecordPlace,
} from './foundation/log-record.ts';
export { EventLog } from './log/event-log.ts';
export { type LogState, logMachine } from './log/log-machine.ts';
export { DEFAULT_LOG_LIMITS, type EventLogOptions, type LogLimits, type LogListener } from './log/log-options.ts';
export { NodeFiles } from './log/node-files.ts';
export { NodeOwner } from './log/node-owner.ts';
export type { LogDamage } from './log/recovery.ts';
export type { LogSegment } from './log/segment.ts';
