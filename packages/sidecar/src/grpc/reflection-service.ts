import { type ServerDuplexStream, status as Status, type UntypedServiceImplementation } from '@grpc/grpc-js';

import { describedFiles, symbolNames } from './definitions.ts';
import { HEALTH } from './health-service.ts';
import { DISCOVERY } from './messages.ts';

/** The services of proto/grpc/reflection, for clients of the first version and of the one before. */
export const REFLECTION: readonly string[] = [
	'grpc.reflection.v1.ServerReflection',
	'grpc.reflection.v1alpha.ServerReflection',
];

/** Every service of this server. */
export const SERVED: readonly string[] = [DISCOVERY, HEALTH, ...REFLECTION];

interface Request {
	readonly message_request?: string;
	readonly file_by_filename?: string;
	readonly file_containing_symbol?: string;
}

/** Describes this server's services and messages to clients: none of the files imports another. */
export function reflectionService(): UntypedServiceImplementation {
	return {
		ServerReflectionInfo: (call: ServerDuplexStream<Request, unknown>): void => {
			call.on('data', (request: Request) => {
				const answer = { valid_host: '', original_request: request, ...answerTo(request) };
				// A client that asks and does not read is not read either.
				if (call.write(answer)) return;
				call.pause();
				call.once('drain', () => call.resume());
			});
			call.on('end', () => call.end());
			// Its client has gone.
			call.on('error', () => undefined);
		},
	};
}

function answerTo(request: Request): object {
	switch (request.message_request) {
		case 'list_services':
			return { list_services_response: { service: SERVED.map((name) => ({ name })) } };
		case 'file_by_filename':
			return fileNamed(request.file_by_filename);
		case 'file_containing_symbol':
			return fileNamed(symbolNames().get(request.file_containing_symbol ?? ''));
		default:
			return failure(Status.NOT_FOUND, 'extensions are not supported');
	}
}

function fileNamed(name: string | undefined): object {
	const file = name === undefined ? undefined : describedFiles().get(name);
	if (file === undefined) return failure(Status.NOT_FOUND, 'unknown file or symbol');
	return { file_descriptor_response: { file_descriptor_proto: [file.bytes] } };
}

function failure(errorCode: number, errorMessage: string): object {
	return { error_response: { error_code: errorCode, error_message: errorMessage } };
}
