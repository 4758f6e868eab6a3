// A worker that does one task after the other, each in its time.
//   node examples/employer-employee/employee.js --name employee-1 [--port 50051] [--work-ms 2]
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Server, ServerCredentials } from '@grpc/grpc-js';

import { Employee } from './employee-service.js';

const { values } = parseArgs({
	options: {
		name: { type: 'string', default: 'employee-1' },
		port: { type: 'string', default: '0' },
		'work-ms': { type: 'string', default: '2' },
	},
});
const workMs = Number(values['work-ms']);

let busy = Promise.resolve();
const server = new Server();
server.addService(Employee.service, {
	Work(_call, reply) {
		busy = busy.then(() => delay(workMs)).then(() => reply(null, { employee: values.name }));
	},
});
server.bindAsync(`127.0.0.1:${values.port}`, ServerCredentials.createInsecure(), (error, port) => {
	if (error) throw error;
	console.log(`${values.name} listens at 127.0.0.1:${port}`);
});
process.once('SIGTERM', () => server.tryShutdown(() => process.exit()));
