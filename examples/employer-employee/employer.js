// An HTTP service that has its work done by the employees: GET / answers with who did it.
//   node examples/employer-employee/employer.js [--port 8080] [--way resolver|pool|single|per-request]
// By hand, from the root of the repository, each in a terminal of its own (the flag after -- replaces examples/services.json):
//   echo '{"services":{"employee":[{"host":"127.0.0.1","port":50051},{"host":"127.0.0.1","port":50052}]}}' > /tmp/staff.json
//   npm start -- --services /tmp/staff.json
//   node examples/employer-employee/employee.js --name ann --port 50051
//   node examples/employer-employee/employee.js --name bob --port 50052
//   node examples/employer-employee/employer.js --port 8080
//   curl http://127.0.0.1:8080
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { connect } from '@spock/client';

import { checkWay, ways } from './ways.js';

const { values } = parseArgs({
	options: { port: { type: 'string', default: '0' }, way: { type: 'string', default: 'resolver' } },
});
const way = checkWay(values.way);
const diplomat = await connect();
const { call, close } = await ways[way](diplomat);

const server = createServer(async (_request, response) => {
	try {
		const { employee } = await call();
		response.end(employee);
	} catch (error) {
		response.statusCode = 503;
		response.end(error.message);
	}
});
// A client that keeps its connection would hold the end up until it lets go of it.
server.on('request', (_request, response) => {
	response.once('finish', () => server.listening || server.closeIdleConnections());
});
server.listen(Number(values.port), '127.0.0.1', () => {
	console.log(`the employer listens at 127.0.0.1:${server.address().port}`);
});
process.once('SIGTERM', () => {
	server.close(async () => {
		await close();
		await diplomat.drain();
	});
});
