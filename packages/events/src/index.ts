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
