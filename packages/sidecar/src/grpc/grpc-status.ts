import { Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import type { ErrorCode, SpockError } from '@spock/protocol';

/** The status of gRPC for each of our codes. */
export const STATUS_BY_CODE: Readonly<Record<ErrorCode, Status>> = {
	BAD_FRAME: Status.INVALID_ARGUMENT,
	BAD_REQUEST: Status.INVALID_ARGUMENT,
	FRAME_TOO_LARGE: Status.RESOURCE_EXHAUSTED,
	UNKNOWN_FUNC: Status.UNIMPLEMENTED,
	UNSUPPORTED_VERSION: Status.UNIMPLEMENTED,
	NO_SUCH_SERVICE: Status.NOT_FOUND,
	NO_HEALTHY_INSTANCE: Status.UNAVAILABLE,
	ACL_DENIED: Status.PERMISSION_DENIED,
	NOT_READY: Status.UNAVAILABLE,
	UNAVAILABLE: Status.UNAVAILABLE,
	OVERLOADED: Status.RESOURCE_EXHAUSTED,
	INTERNAL: Status.INTERNAL,
	TIMEOUT: Status.DEADLINE_EXCEEDED,
	ABORTED: Status.CANCELLED,
	DISCONNECTED: Status.UNAVAILABLE,
	CLOSED: Status.UNAVAILABLE,
	PROTOCOL: Status.INTERNAL,
	NO_SUCH_KEY: Status.NOT_FOUND,
	BAD_VALUE: Status.FAILED_PRECONDITION,
};

/** What ends a call. */
export type FailedStatus = Pick<ServiceError, 'code' | 'details' | 'metadata'>;

/** An error as the end of a call: status, our message, and our code in the trailers. */
export function statusOf(error: SpockError): FailedStatus {
	const metadata = new Metadata();
	metadata.set('spock-code', error.code);
	metadata.set('spock-retryable', String(error.retryable));
	return { code: STATUS_BY_CODE[error.code], details: error.message, metadata };
}

/** The name that gRPC has for a status. */
export function statusName(code: Status): string {
	return Status[code] ?? 'UNKNOWN';
}
