import { NOT_SHOWN } from '../../domain/resources.js'
import { ASSUMPTIONS, type AssumptionName, type Assumptions } from '../../service/assumptions.js'
import { errorObject } from '../error-form.js'
import { type ErrorCode, type ErrorStatus, statusOf } from '../errors.js'
import { describeWebhooks } from './openapi-webhooks.js'
import { OPERATIONS, type Operation, TAGS } from './operations.js'
import { type Json, SchemaCollection } from './schema-collection.js'

const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }

/** The headers of an error, beside the one of every response. */
const ERROR_HEADERS: Partial<Record<ErrorStatus, Json>> = {
  401: { 'www-authenticate': { schema: { type: 'string', const: 'Bearer' }, ...NOT_SHOWN } },
  429: {
    'retry-after': {
      description: 'Seconds',
      schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
      ...NOT_SHOWN,
    },
  },
}

const OTHER_FAULTS = '5XX'
const ERRORS_OF_ALL = [
  'api_key_missing',
  'api_key_invalid',
  'host_refused',
  'rate_limited',
  'internal',
] as const
const ERRORS_OF_BODIES = ['unsupported_media_type', 'invalid_json', 'body_too_large'] as const

/**
 * The OpenAPI 3.1 description of the API. What the specification does not show is marked `x-not-shown`.
 *
 * @param url the base URL of the service
 */
export function describeApi(assumptions: Assumptions, url: string): Json {
  const schemas = new SchemaCollection()
  const error = schemas.add(errorObject, 'output')
  const paths: Record<string, Record<string, Json>> = {}
  for (const operation of OPERATIONS) {
    const described = describeOperation(operation, { schemas, error })
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Event ticketing service',
      // The version is part of the path, and the only one documented.
      version: 'v2',
      contact: { name: 'tix-webhooks' },
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'The interface of the service as its specification has it. What the specification does not show is marked x-not-shown: there this is an assumption of the sandbox, and the service may differ.',
    },
    servers: [{ url }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths,
    webhooks: describeWebhooks(schemas),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'sk_test_… acts on sandbox data alone, sk_live_… on real data.',
        },
      },
      headers: {
        RequestId: {
          schema: { type: 'string', pattern: '^req_[0-9A-Za-z]+$' },
          required: true,
          ...NOT_SHOWN,
        },
      },
      schemas: schemas.named(),
    },
    'x-assumptions': describeAssumptions(assumptions),
  }
}

interface Parts {
  readonly schemas: SchemaCollection
  /** The schema of an error. */
  readonly error: Json
}

function describeOperation(operation: Operation, parts: Parts): Json {
  const { id, tag, summary, description, body, status, answer, isShown } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    parameters: [...pathParameters(operation), ...queryParameters(operation, parts)],
    ...(body && {
      requestBody: {
        required: body.required,
        content: { 'application/json': { schema: parts.schemas.add(body.schema, 'input') } },
      },
    }),
    responses: {
      [status]: {
        description: summary,
        headers: REQUEST_ID,
        content: {
          'application/json': {
            schema: parts.schemas.add(answer, 'output'),
            ...(!isShown && NOT_SHOWN),
          },
        },
        // The specification shows no status.
        ...NOT_SHOWN,
      },
      ...errorResponses(operation, parts),
    },
  }
}

function pathParameters({ path }: Operation): Json[] {
  return path.includes('{id}')
    ? [
        {
          name: 'id',
          in: 'path',
          required: true,
          schema: { type: 'string' },
          description: 'The id of an event',
        },
      ]
    : []
}

function queryParameters({ query }: Operation, { schemas }: Parts): Json[] {
  if (query === undefined) return []
  const whole = schemas.add(query, 'input')
  return Object.entries(whole.properties as Record<string, Json>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      ...(description !== undefined && { description }),
      schema,
      ...('x-not-shown' in whole && NOT_SHOWN),
    }),
  )
}

function errorResponses(operation: Operation, { error }: Parts): Json {
  const codes = new Map<ErrorStatus, Set<ErrorCode>>()
  const add = (code: ErrorCode, status: ErrorStatus) =>
    codes.set(status, (codes.get(status) ?? new Set()).add(code))
  for (const code of ERRORS_OF_ALL) add(code, statusOf(code))
  for (const code of operation.body ? ERRORS_OF_BODIES : []) add(code, statusOf(code))
  add('parameter_unknown', 400)
  if (operation.path.includes('{id}')) add('resource_missing', 404)
  for (const code of operation.errors) add(code, statusOf(code, 'a parameter'))

  const responses = [...codes].map(([status, these]) => {
    const all = [...these]
    return [
      status,
      {
        description: all.join(', '),
        headers: { ...REQUEST_ID, ...ERROR_HEADERS[status] },
        content: { 'application/json': { schema: { allOf: [error, only(all)] } } },
        ...NOT_SHOWN,
      },
    ]
  })
  return Object.fromEntries([...responses, [OTHER_FAULTS, otherFaults(error)]])
}

/** The answers of a service that is down, which the sandbox gives if the user added a fault. */
function otherFaults(error: Json): Json {
  return {
    description: 'Any other fault of the service. The sandbox answers it where it was asked for.',
    headers: REQUEST_ID,
    content: { 'application/json': { schema: { allOf: [error, only(['internal'])] } } },
    ...NOT_SHOWN,
  }
}

/** A schema that allows only these codes. */
function only(codes: readonly ErrorCode[]): Json {
  return { properties: { error: { properties: { code: { enum: codes } } } } }
}

function describeAssumptions(assumptions: Assumptions): Json {
  const entries = Object.entries(ASSUMPTIONS).map(([name, { says, choices }]) => [
    name,
    { says, chosen: assumptions[name as AssumptionName], choices, ...NOT_SHOWN },
  ])
  return Object.fromEntries(entries)
}
