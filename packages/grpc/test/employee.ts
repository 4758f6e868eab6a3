import type {
	Client,
	ClientOptions,
	Server,
	ServerCredentials,
	ServerUnaryCall,
	ServiceClientConstructor,
	ServiceError,
	sendUnaryData,
} from '@grpc/grpc-js';

import type { GrpcModule } from '../src/resolver/grpc-module.ts';

/** What an employee is asked: to answer with an error, or not at all. */
export interface Work {
	readonly code?: number;
	readonly hang?: boolean;
}

/** Who did the work. */
export interface Done {
	readonly worker: string;
}

const method = (path: string) => ({
	path,
	requestStream: false,
	responseStream: false,
	requestSerialize: (value: Work) => Buffer.from(JSON.stringify(value)),
	requestDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as Work,
	responseSerialize: (value: Done) => Buffer.from(JSON.stringify(value)),
	responseDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as Done,
});

const definition = { Work: method('/spock.test.Employee/Work') };

/** A client of the service; `work` of {@link callEmployee} calls it. */
export function employeeClass(grpc: GrpcModule): ServiceClientConstructor {
	return grpc.makeGenericClientConstructor(definition, 'spock.test.Employee');
}

/** A worker in this process. */
export interface Employee extends Disposable {
	readonly name: string;
	readonly port: number;
	/** Calls that arrived. */
	readonly count: number;
	/** True: calls get no answer. */
	hangs: boolean;
	readonly server: Server;
}

/** Starts a worker that answers with its name. */
export async function startEmployee(
	grpc: GrpcModule,
	name: string,
	options: { readonly host?: string; readonly port?: number; readonly credentials?: ServerCredentials } = {},
): Promise<Employee> {
	const server = new grpc.Server();
	const state = { count: 0, hangs: false };
	server.addService(definition, {
		Work({ request }: ServerUnaryCall<Work, Done>, reply: sendUnaryData<Done>): void {
			state.count++;
			if (state.hangs || request.hang) return;
			if (request.code === undefined) reply(null, { worker: name });
			else reply({ code: request.code, details: `${name} says ${request.code}` });
		},
	});
	const { host = '127.0.0.1', port = 0, credentials = grpc.ServerCredentials.createInsecure() } = options;
	const bound = await new Promise<number>((resolve, reject) => {
		server.bindAsync(`${host}:${port}`, credentials, (error, found) => (error ? reject(error) : resolve(found)));
	});
	return {
		name,
		port: bound,
		server,
		get count() {
			return state.count;
		},
		get hangs() {
			return state.hangs;
		},
		set hangs(hangs: boolean) {
			state.hangs = hangs;
		},
		[Symbol.dispose]: () => server.forceShutdown(),
	};
}

type WorkCall = (
	work: Work,
	options: { deadline?: number },
	callback: (error: ServiceError | null, done: Done) => void,
) => unknown;

/** Calls a worker through a client. Rejects with a ServiceError. */
export function callEmployee(client: Client, work: Work = {}, timeoutMs = 20_000): Promise<string> {
	return new Promise((resolve, reject) => {
		const call = (client as unknown as { Work: WorkCall }).Work.bind(client);
		call(work, { deadline: Date.now() + timeoutMs }, (error, done) => (error ? reject(error) : resolve(done.worker)));
	});
}

/** A client, closed at its end. */
export function employeeClient(grpc: GrpcModule, target: string, options: ClientOptions = {}): Client & Disposable {
	const client = new (employeeClass(grpc))(target, grpc.credentials.createInsecure(), options);
	return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}
