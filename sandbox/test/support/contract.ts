import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** An answer of the API, and its request. */
interface Exchange {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** The parts of an OpenAPI document that are read here. */
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, object>> }>>
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

/** The statuses of undescribed requests: refused before routing, or not found. */
const UNDESCRIBED = { path: [401, 403, 404, 429], method: [401, 403, 405, 429] }

/** Checks answers and webhooks against a description: both functions throw if they differ from it. */
export function contractOf(description: object) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  formats.default(ajv)
  ajv.addSchema(description, 'api')
  const { paths } = description as { paths: Paths }
  const templates = Object.keys(paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  const validators = new Map<string, ValidateFunction>()
  const validatorAt = (pointer: readonly string[]): ValidateFunction => {
    const $ref = `api#/${pointer.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
    const validator = validators.get($ref) ?? ajv.compile({ $ref })
    validators.set($ref, validator)
    return validator
  }

  const checkAnswer = ({ method, path, status, headers, body }: Exchange): void => {
    const says = (what: string): Error =>
      new Error(`${method} ${path} → ${status}: ${what}\n${body.slice(0, 2000)}`)
    if (!/^req_[0-9A-Za-z]{20}$/.test(headers.get('x-request-id') ?? ''))
      throw says('there is no x-request-id')

    const template = templates.find(({ pattern }) => pattern.test(path))?.path
    const name = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = template === undefined ? undefined : paths[template]?.[name]
    const type = headers.get('content-type') ?? ''
    if (template === undefined || operation === undefined) {
      const allowed = UNDESCRIBED[template === undefined ? 'path' : 'method']
      if (!allowed.includes(status)) throw says(`this is not described, and not one of ${allowed}`)
      validate(validatorAt(['components', 'schemas', 'Error']))
      return
    }
    const range = `${Math.floor(status / 100)}XX`
    const described = operation.responses[status] === undefined ? range : String(status)
    const response = operation.responses[described]
    if (response === undefined) throw says(`described are ${Object.keys(operation.responses)}`)
    if (response.content?.[type] === undefined) throw says(`the content type ${type} is not described`)
    validate(validatorAt(['paths', template, name, 'responses', described, 'content', type, 'schema']))

    function validate(validator: ValidateFunction): void {
      if (method === 'HEAD') return
      if (!validator(JSON.parse(body))) throw says(ajv.errorsText(validator.errors, { separator: '\n' }))
    }
  }
  const checkWebhook = (headers: Readonly<Record<string, string>>, body: string): void => {
    const event = JSON.parse(body)
    const at = ['webhooks', String(event.type), 'post']
    const signature = validatorAt([...at, 'parameters', '0', 'schema'])
    if (!signature(headers['x-service-signature'])) throw new Error(ajv.errorsText(signature.errors))
    const schema = validatorAt([...at, 'requestBody', 'content', headers['content-type'] ?? '', 'schema'])
    if (!schema(event)) throw new Error(`${ajv.errorsText(schema.errors, { separator: '\n' })}\n${body}`)
  }
  return { checkAnswer, checkWebhook }
}
