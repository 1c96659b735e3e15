import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { reasonOf } from '../data/reason.js'

interface FormProps {
  readonly label: string
  /** Takes the fields that have a value, by their names. What it throws is shown below them. */
  readonly add: (fields: Readonly<Record<string, string>>) => Promise<unknown>
  readonly children: ComponentChildren
}

/** A form that adds something. It is empty again after that. */
export function Form({ label, add, children }: FormProps) {
  const [problem, setProblem] = useState('')
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const filled = [...new FormData(form)].filter(([, value]) => value !== '')
    try {
      await add(Object.fromEntries(filled) as Record<string, string>)
      form.reset()
      setProblem('')
    } catch (error) {
      setProblem(reasonOf(error))
    }
  }
  return (
    <form
      aria-label={label}
      class="field"
      onSubmit={(event) => {
        event.preventDefault()
        void submit(event.currentTarget)
      }}
    >
      {children}
      <button type="submit" class="main">
        Add
      </button>
      <p class="problem" role="alert">
        {problem}
      </p>
    </form>
  )
}
